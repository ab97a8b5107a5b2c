// Every architecture's logits against transformers in float32: weights F32, KV cache f32.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect_golden.h"
#include "llm/engine/engine.h"
#include "patched_model.h"

namespace ingot {
namespace {

void expect_all_golden(Engine& engine, const Golden& golden, float tolerance = kTolerance) {
    for (const TokenId length : golden.lengths()) {
        expect_golden(engine, golden, length, tolerance);
    }
}

class GoldenLogits : public testing::TestWithParam<const char*> {
  protected:
    const Golden golden_{GetParam()};
};

TEST_P(GoldenLogits, WithWholePrompts) {
    const auto engine = load_tiny(GetParam());
    EXPECT_THAT(engine->stats().backend, testing::StartsWith("cpu"));
    expect_all_golden(*engine, golden_);
}

TEST_P(GoldenLogits, WithChunkedPrompts) {
    for (const uint32_t batch : {1u, 16u, 33u}) {
        SCOPED_TRACE(fmt::format("batch {}", batch));
        expect_all_golden(*load_tiny(GetParam(), {.batch = batch}), golden_);
    }
}

TEST_P(GoldenLogits, WithoutFusedNodes) {
    expect_all_golden(*load_tiny(GetParam(), {.fuse = false}), golden_);
}

TEST_P(GoldenLogits, OnOneThreadAndOnThree) {
    for (const uint32_t threads : {1u, 3u}) {
        const auto engine = load_tiny(GetParam(), {.threads = threads});
        EXPECT_EQ(engine->threads(), threads);
        expect_all_golden(*engine, golden_);
    }
}

TEST_P(GoldenLogits, OfAllPromptsTogetherInSequencesOfTheirOwn) {
    for (const uint32_t batch : {512u, 33u}) {
        SCOPED_TRACE(fmt::format("batch {}", batch));
        expect_golden_together(*load_tiny(GetParam(), {.context = 512, .batch = batch}), golden_,
                               golden_.lengths());
    }
}

TEST_P(GoldenLogits, WithAHalfPrecisionCache) {
    expect_all_golden(*load_tiny(GetParam(), {.kv_format = kv::Format::kF16}), golden_, kF16KvTolerance);
}

TEST_P(GoldenLogits, AtEveryPosition) {
    const TokenId length = std::ranges::max(golden_.lengths());
    const size_t stride = golden_.column_stride();
    for (const uint32_t batch : {512u, 20u}) {
        const auto engine = load_tiny(GetParam(), {.batch = batch});
        for (const size_t first : {size_t(0), size_t(length) / 2, size_t(length) - 1}) {
            engine->truncate(0);
            size_t expected = first;
            const auto run = engine->forward_all(
                golden_.prompt(length), first, [&](size_t index, std::span<const float> logits) {
                    ASSERT_EQ(index, expected++) << "rows come in order, each once";
                    std::vector<float> sampled;
                    for (size_t c = 0; c < logits.size(); c += stride) sampled.push_back(logits[c]);
                    ASSERT_LE(max_difference(sampled, golden_.sampled_logits(length, index)), kTolerance)
                        << index;
                });
            ASSERT_TRUE(run) << run.error().describe();
            EXPECT_EQ(expected, size_t(length));
        }
    }
}

TEST_P(GoldenLogits, AfterTruncatingAndRunningTheRestAgain) {
    const TokenId length = std::ranges::max(golden_.lengths());
    const std::vector<TokenId> prompt = golden_.prompt(length);
    const auto engine = load_tiny(GetParam());
    ASSERT_TRUE(engine->forward(prompt));
    for (const uint32_t kept : {1u, 40u, uint32_t(length) - 1}) {
        engine->truncate(kept);
        EXPECT_EQ(engine->num_tokens(), kept);
        // Something else first, so that the cells behind `kept` hold another text's rows.
        ASSERT_TRUE(engine->forward(std::vector<TokenId>{3, 1, 4}));
        engine->truncate(kept);
        const auto logits = engine->forward(std::span(prompt).subspan(kept));
        ASSERT_TRUE(logits) << logits.error().describe();
        EXPECT_LE(max_difference(*logits, golden_.logits(length, 0)), kTolerance) << "kept " << kept;
    }
}

TEST_P(GoldenLogits, TrapALongPromptThenAShortOneInOneEngine) {
    const auto [shortest, longest] = std::ranges::minmax(golden_.lengths());
    const auto engine = load_tiny(GetParam());
    expect_golden(*engine, golden_, longest);
    engine->truncate(0);
    expect_golden(*engine, golden_, shortest);
    engine->truncate(0);
    expect_golden(*engine, golden_, longest);
}

INSTANTIATE_TEST_SUITE_P(Architectures, GoldenLogits,
                         testing::Values("llama", "qwen2", "qwen3", "gemma3", "llama-tied-linear",
                                         "llama-yarn", "llama-llama3", "qwen2-untied-yarn", "qwen3-tied",
                                         "gemma3-linear", "llama-biases"),
                         tiny_model_name);

// Cells of whole blocks of 32.
class PackedCache : public GoldenLogits {};

TEST_P(PackedCache, KeepsTheAnswers) {
    expect_all_golden(*load_tiny(GetParam(), {.kv_format = kv::Format::kQ8_0}), golden_, kQ8KvTolerance);
}

INSTANTIATE_TEST_SUITE_P(Architectures, PackedCache,
                         testing::Values("llama-yarn", "llama-llama3", "qwen2-untied-yarn", "gemma3-linear"),
                         tiny_model_name);

// The scalings must matter in the tests above: with the factor dropped, logits are elsewhere.
TEST(GoldenLogitsOfABrokenModel, TrapRopeFrequencyScaleDropped) {
    const std::string path = testing::TempDir() + "ingot-scale-dropped.gguf";
    PatchedModel("llama-tied-linear").set("llama.rope.scaling.factor", 1.0f).write(path);
    const Golden golden("llama-tied-linear");
    const auto engine = Engine::load(path, {.kv_format = kv::Format::kF32});
    ASSERT_TRUE(engine) << engine.error().describe();
    const auto logits = (*engine)->forward(golden.prompt(65));
    ASSERT_TRUE(logits) << logits.error().describe();
    EXPECT_GT(max_difference(*logits, golden.logits(65, 0)), 0.1f);
}

}  // namespace
}  // namespace ingot
