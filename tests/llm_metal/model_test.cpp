// Whole models on the Metal device: every architecture's logits against transformers in float32, all nodes on
// Metal, fused nodes against the chain, chunks against whole prompts, and each KV format.
#include <algorithm>

#include <gmock/gmock.h>

#include "llm/engine/engine.h"
#include "llm/model/expect_golden.h"
#include "metal_test.h"
#include "support/run_program.h"

namespace ingot {
namespace {

std::unique_ptr<Engine> load(const std::string& name, EngineOptions options = {}) {
    options.device = "metal";
    return load_tiny(name, std::move(options));
}

// Bars of one step beside the CPU: of the largest difference of two logits, and as a share of the largest.
constexpr float kCpuLogitBar = 2e-3f, kCpuLogitShare = 1e-3f;

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
                         tiny_model_name);

// Prompts and decode steps through the kernels that are chosen otherwise, in every format of cells that the
// model can have.
class MetalPaths : public MetalModel {};

TEST_P(MetalPaths, GiveTheGoldenLogits) {
    struct Path {
        std::vector<std::string> settings;
        std::vector<std::string_view> kernels;
    };
    const Path paths[] = {
        {{}, {"attention_tile", "attention_decode", "mat_mul_tile"}},
        {{"attn.decode=split", "attn.prefill=flash", "mat_mul=tile"},
         {"attention_tile", "attention_decode", "attention_combine", "mat_mul_tile"}},
        {{"attn.decode=classic", "attn.prefill=classic", "mat_mul=multi"},
         {"attention_classic", "mat_mul_multi"}},
        {{"attn.decode=tile", "attn.prefill=parallel"},
         {"attention_tile", "attention_scores", "mat_mul_tile"}},
    };
    const bool packs = std::string_view(GetParam()) != "qwen3-tied";  // cells of whole blocks of 32
    for (const Path& path : paths) {
        for (const auto& [format, bar] : {std::pair(kv::Format::kF32, kTolerance),
                                          {kv::Format::kF16, kF16KvTolerance},
                                          {kv::Format::kQ8_0, kQ8KvTolerance}}) {
            // What is chosen by itself has tests of its own in the other formats.
            if (format == kv::Format::kQ8_0 ? !packs : path.settings.empty()) continue;
            SCOPED_TRACE(fmt::format("{} {}", fmt::join(path.settings, " "), kv::traits(format).name));
            const auto engine =
                load(GetParam(), {.settings = path.settings, .profile = true, .kv_format = format});
            expect_golden(*engine, golden_, std::ranges::max(golden_.lengths()), bar);
            const std::string profile = engine->stats().profile;
            for (const std::string_view family :
                 {"attention_tile", "attention_decode", "attention_classic", "attention_combine",
                  "attention_scores", "mat_mul_tile", "mat_mul_multi"}) {
                const bool wanted = std::ranges::find(path.kernels, family) != path.kernels.end();
                EXPECT_EQ(wanted, profile.find(fmt::format(" x {}", family)) != profile.npos)
                    << family << " in\n"
                    << profile;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Architectures, MetalPaths,
                         testing::Values("llama-yarn", "qwen2-untied-yarn", "qwen3-tied", "gemma3-linear"),
                         tiny_model_name);

// Beside the CPU's kernels that multiply activations as they are.
class MetalBesideCpu : public MetalModel {};

TEST_P(MetalBesideCpu, Says32Tokens) {
    const auto metal = load(GetParam()), cpu = load_tiny(GetParam(), {.isa = "plain"});
    EXPECT_EQ("cpu (plain)", cpu->stats().backend);
    EXPECT_THAT(metal->stats().placement, testing::ElementsAre(testing::Key("metal")));
    std::vector<TokenId> tokens = golden_.prompt(63);
    for (int step = 0; step < 32; ++step) {
        SCOPED_TRACE(step);
        const auto expected = cpu->forward(tokens), actual = metal->forward(tokens);
        ASSERT_TRUE(expected && actual);
        float largest = 0;
        for (const float logit : *expected) largest = std::max(largest, std::abs(logit));
        EXPECT_LE(max_difference(*actual, *expected), std::min(kCpuLogitBar, kCpuLogitShare * largest));
        ASSERT_EQ(argmax(*expected), argmax(*actual));
        tokens = {argmax(*expected)};
    }
}

INSTANTIATE_TEST_SUITE_P(Architectures, MetalBesideCpu, testing::Values("llama", "qwen2", "qwen3", "gemma3"),
                         tiny_model_name);

// Every kind of kernel: gather, products, norms, fused projections and FFN, rotation, store, both attentions.
class MetalRepeats : public MetalModel {};

TEST_P(MetalRepeats, FiftyRunsAreBitwiseEqual) {
    const auto engine = load(GetParam());
    std::vector<TokenId> prompt = golden_.prompt(65), step = {8};
    prompt.resize(33);
    std::vector<float> first;
    for (int run = 0; run < 50; ++run) {
        engine->truncate(0);
        std::vector<float> logits;
        for (const std::vector<TokenId>& tokens : {prompt, step}) {
            const auto ran = engine->forward(tokens);
            ASSERT_TRUE(ran);
            logits.insert(logits.end(), ran->begin(), ran->end());
        }
        if (run == 0) first = logits;
        ASSERT_EQ(first, logits) << "run " << run;
    }
}

INSTANTIATE_TEST_SUITE_P(Architectures, MetalRepeats, testing::Values("llama-biases", "qwen3-tied"),
                         tiny_model_name);

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

TEST(MetalEngines, TrapAWeightTypeThatNoKernelReadsIsRefusedByName) {
    const test::TemporaryFolder folder;
    const auto write = [&](QuantType type) {
        const char* tensor = "blk.1.ffn_down.weight";
        PatchedModel model("llama-yarn");
        for (size_t i = 0; i < 64 * 64; ++i) model.set_element(tensor, i, 0.0f);
        model.set_type(tensor, type, 2).write(folder.file("model"));
        return folder.file("model");
    };
    const auto refused = Engine::load(write(QuantType::kIQ4_NL), {.device = "metal"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().describe(),
                testing::HasSubstr("'blk.1.ffn_down.weight' is IQ4_NL; the Metal kernels accept F32 F16"));
    EXPECT_TRUE(Engine::load(folder.file("model"), {.device = "cpu"}));
    const auto served = Engine::load(write(QuantType::kQ4_0), {.device = "metal"});
    ASSERT_TRUE(served) << served.error().describe();
    EXPECT_THAT((*served)->stats().placement, testing::ElementsAre(testing::Key("metal")));
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
