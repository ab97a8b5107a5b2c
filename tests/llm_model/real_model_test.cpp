// SmolLM2 and Gemma 3 as they are shipped, against llama.cpp: greedy continuations and perplexity. Both
// programs round activations to 8 bits, each in its own way; float_model_test.cpp has the strict comparison.
#include "real_model.h"

namespace ingot {
namespace {

// How far that rounding moves the distance of two logits: 0.2 as a root mean square, and llama.cpp's own
// choices differ from those with F32 weights at distances up to 0.25 (docs/models.md). Four deviations.
constexpr double kNoise = 0.8;
constexpr double kPerplexityShare = 0.005;  // of llama.cpp's

class RealModelTest : public RealModelFixture {
  protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(assert_fetched());
        load(cached_model(GetParam()), std::string(GetParam().golden) + ".json", {});
    }
};

TEST_P(RealModelTest, ContinuesTenPromptsAsLlamaCppDoes) {
    size_t steps = 0, differences = 0;
    for (const auto& prompt : golden_["prompts"]) {
        SCOPED_TRACE(prompt["text"].get<std::string>());
        const auto expected = prompt["continuation"].get<std::vector<TokenId>>();
        const auto gaps = prompt["gaps"].get<std::vector<double>>();
        EXPECT_EQ(*tokenizer_->encode(prompt["text"].get<std::string>()),
                  prompt["ids"].get<std::vector<TokenId>>());
        follow(*engine_, prompt, [&](size_t step, TokenId chosen) {
            ++steps;
            if (chosen == expected[step]) return;
            ++differences;
            EXPECT_LT(gaps[step], kNoise)
                << "step " << step << " chose " << chosen << ", llama.cpp " << expected[step];
        });
    }
    RecordProperty("differences", int(differences));
    EXPECT_EQ(320u, steps);
    EXPECT_LT(differences, steps / 10);
}

TEST_P(RealModelTest, PerplexityIsLlamaCpps) {
    expect_golden_perplexity(kPerplexityShare);
}

INSTANTIATE_TEST_SUITE_P(Real, RealModelTest, kRealModels, [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot
