// Whole models on the Metal device: every architecture's logits against transformers in float32, all nodes on
// Metal, fused nodes against the chain, chunks against whole prompts, and each KV format.
#include <algorithm>

#include <gmock/gmock.h>

#include "llm/engine/engine.h"
#include "llm/model/expect_golden.h"
#include "metal_test.h"

namespace ingot {
namespace {

std::unique_ptr<Engine> load(const std::string& name, EngineOptions options = {}) {
    options.device = "metal";
    return load_tiny(name, std::move(options));
}

class MetalModel : public testing::TestWithParam<const char*> {
  protected:
    void TearDown() override { EXPECT_EQ("", tests::findings(*tests::value_of(mtl::Device::shared()))); }

    const Golden golden_{GetParam()};
};

TEST_P(MetalModel, GivesTheGoldenLogitsWithEveryNodeOnMetal) {
    const auto engine = load(GetParam());
    EXPECT_THAT(engine->stats().backend, testing::StartsWith("metal"));
    EXPECT_THAT(engine->stats().placement, testing::ElementsAre(testing::Key("metal")));
    EXPECT_EQ(engine->threads(), 0u);
    for (const TokenId length : golden_.lengths()) expect_golden(*engine, golden_, length);
}

TEST_P(MetalModel, GivesTheGoldenLogitsInChunksAndWithoutFusedNodes) {
    const auto engine = load(GetParam(), {.batch = 33, .fuse = false});
    expect_golden(*engine, golden_, std::ranges::max(golden_.lengths()));
}

TEST_P(MetalModel, GivesTheGoldenLogitsOfSeveralPromptsTogether) {
    const std::vector<TokenId> lengths = golden_.lengths();
    expect_golden_together(
        *load(GetParam(), {.context = 512}), golden_,
        {std::ranges::max(lengths), std::ranges::min(lengths), lengths[lengths.size() / 2]});
}

TEST_P(MetalModel, KeepsItsAnswersWithAHalfPrecisionCache) {
    const auto engine = load(GetParam(), {.kv_format = kv::Format::kF16});
    expect_golden(*engine, golden_, std::ranges::max(golden_.lengths()), kF16KvTolerance);
}

TEST_P(MetalModel, TrapALongPromptThenAShortOneInOneEngine) {
    const auto [shortest, longest] = std::ranges::minmax(golden_.lengths());
    const auto engine = load(GetParam());
    expect_golden(*engine, golden_, longest);
    expect_golden(*engine, golden_, shortest);
}

TEST_P(MetalModel, FusedDecodeIsBitIdenticalToTheChain) {
    const auto fused = load(GetParam()), chain = load(GetParam(), {.fuse = false});
    ASSERT_LT(fused->stats().placement["metal"], chain->stats().placement["metal"]);
    for (const TokenId token : {3, 14, 15, 92, 65}) {
        const auto a = fused->forward({&token, 1}), b = chain->forward({&token, 1});
        ASSERT_TRUE(a && b);
        ASSERT_EQ(std::vector<float>(a->begin(), a->end()), std::vector<float>(b->begin(), b->end()));
    }
}

INSTANTIATE_TEST_SUITE_P(Architectures, MetalModel,
                         testing::Values("llama", "qwen2", "qwen3", "gemma3", "llama-tied-linear",
                                         "llama-yarn", "llama-llama3", "qwen2-untied-yarn", "qwen3-tied",
                                         "gemma3-linear", "llama-biases"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST_P(MetalModel, GivesTheGoldenLogitsWithPartOfItsLayersOnTheCpu) {
    for (const uint32_t layers : {0u, 1u}) {
        const auto engine = load(GetParam(), {.gpu_layers = layers});
        EXPECT_EQ(layers > 0, engine->stats().placement.contains("metal"));
        EXPECT_TRUE(engine->stats().placement.contains("cpu"));
        EXPECT_GT(engine->threads(), 0u);
        expect_golden(*engine, golden_, std::ranges::min(golden_.lengths()));
    }
    const auto all = load(GetParam(), {.gpu_layers = 1000});
    EXPECT_THAT(all->stats().placement, testing::ElementsAre(testing::Key("metal")));
}

TEST(MetalEngines, AutoTakesWhatFitsTheMemory) {
    EXPECT_THAT(load("llama", {.gpu_layers_auto = true})->stats().placement,
                testing::ElementsAre(testing::Key("metal")));
    const auto tight = load("llama", {.gpu_layers_auto = true, .gpu_memory_bytes = 300000});
    EXPECT_THAT(tight->stats().placement, testing::ElementsAre(testing::Key("cpu"), testing::Key("metal")));
    const auto none = Engine::load(tiny_model_path("llama"), {.device = "metal", .gpu_memory_bytes = 1000});
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().describe(), testing::HasSubstr("don't fit the Metal device's 1000"));
}

TEST(MetalEngines, OfTwoFormatsLiveInOneProcess) {
    const Golden golden("llama");
    const auto full = load("llama"), half = load("llama", {.kv_format = kv::Format::kF16});
    expect_golden(*full, golden, 65);
    expect_golden(*half, golden, 65, kF16KvTolerance);
    expect_golden(*full, golden, 64);
    EXPECT_EQ(full->stats().kv_bytes, 2 * half->stats().kv_bytes);
}

}  // namespace
}  // namespace ingot
