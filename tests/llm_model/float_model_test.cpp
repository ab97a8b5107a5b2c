// SmolLM2 and Gemma 3 with their weights decoded to F32, against llama.cpp on the same weights with F32 keys,
// values and attention: without the rounding of activations, which each engine does in its own way, the two
// must agree wherever the two best logits are apart at all.
#include "base/thread_pool.h"
#include "llm/gguf/quantize_file.h"
#include "real_model.h"
#include "support/run_program.h"

namespace ingot {
namespace {

class FloatModelTest : public RealModelFixture {
  protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(assert_fetched());
        const auto coded = gguf::File::open(cached_model(GetParam()));
        ASSERT_TRUE(coded) << coded.error().describe();
        const std::string path = folder_.file("f32.gguf");
        const auto report = gguf::quantize_file(
            *coded, path, {.type = QuantType::kF32, .threads = num_available_cores(), .progress = {}});
        ASSERT_TRUE(report) << report.error().describe();
        load(path, std::string(GetParam().golden) + "-f32.json", {.kv_format = kv::Format::kF32});
        for (const gguf::TensorInfo& tensor : engine_->file().tensors())
            ASSERT_EQ(QuantType::kF32, tensor.type) << tensor.name;
    }

    test::TemporaryFolder folder_;
};

TEST_P(FloatModelTest, ContinuesTenPromptsAsLlamaCppDoesWhereverTwoLogitsAreApart) {
    size_t steps = 0, near_ties = 0, differences = 0;
    for (const auto& prompt : golden_["prompts"]) {
        SCOPED_TRACE(prompt["text"].get<std::string>());
        const auto expected = prompt["continuation"].get<std::vector<TokenId>>();
        const auto gaps = prompt["gaps"].get<std::vector<double>>();
        EXPECT_EQ(*tokenizer_->encode(prompt["text"].get<std::string>()),
                  prompt["ids"].get<std::vector<TokenId>>());
        follow(*engine_, prompt, [&](size_t step, TokenId chosen) {
            ++steps;
            near_ties += gaps[step] < kNearTie;
            differences += chosen != expected[step];
            if (gaps[step] >= kNearTie) {
                EXPECT_EQ(expected[step], chosen) << "step " << step;
            }
        });
    }
    RecordProperty("near_ties", int(near_ties));
    RecordProperty("differences", int(differences));
    EXPECT_EQ(320u, steps);
    EXPECT_LT(near_ties, steps / 10);
}

TEST_P(FloatModelTest, PerplexityIsLlamaCppsToFourDigits) {
    expect_golden_perplexity(1e-4);
}

INSTANTIATE_TEST_SUITE_P(Real, FloatModelTest, kRealModels, [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot
