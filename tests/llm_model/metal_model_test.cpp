// SmolLM2 on the Metal device beside the CPU's reference kernels, which multiply activations as they are: the
// same tokens, and logits that differ by float rounding.
#include <gmock/gmock.h>

#include "real_model.h"

namespace ingot {
namespace {

// Bars of one step: of the largest difference of two logits, and of that as a share of the largest logit.
constexpr double kMetalLogitBar = 2e-3, kMetalLogitShare = 1e-3;

class MetalModelTest : public RealModelFixture {
  protected:
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(assert_fetched());
        const std::string golden = std::string(GetParam().golden) + ".json";
        load(cached_model(GetParam()), golden,
             {.device = "cpu", .isa = "plain", .kv_format = kv::Format::kF32});
        cpu_ = std::move(engine_);
        load(cached_model(GetParam()), golden, {.device = "metal", .kv_format = kv::Format::kF32});
    }

    std::unique_ptr<Engine> cpu_;
};

TEST_P(MetalModelTest, Says32TokensAsTheCpuDoesWithEveryNodeOnMetal) {
    EXPECT_EQ("cpu (plain)", cpu_->stats().backend);
    EXPECT_THAT(engine_->stats().backend, testing::StartsWith("metal"));
    EXPECT_THAT(engine_->stats().placement, testing::ElementsAre(testing::Key("metal")));
    std::vector<TokenId> tokens = golden_["prompts"][0]["ids"].get<std::vector<TokenId>>();
    double largest_difference = 0;
    for (int step = 0; step < 32; ++step) {
        SCOPED_TRACE(step);
        const auto expected = cpu_->forward(tokens), actual = engine_->forward(tokens);
        ASSERT_TRUE(expected) << expected.error().describe();
        ASSERT_TRUE(actual) << actual.error().describe();
        double difference = 0, largest = 0;
        for (size_t i = 0; i < expected->size(); ++i) {
            difference = std::max(difference, std::abs(double((*expected)[i]) - (*actual)[i]));
            largest = std::max(largest, std::abs(double((*expected)[i])));
        }
        EXPECT_LE(difference, kMetalLogitBar);
        EXPECT_LE(difference, kMetalLogitShare * largest);
        ASSERT_EQ(argmax(*expected), argmax(*actual));
        largest_difference = std::max(largest_difference, difference);
        tokens = {argmax(*expected)};
    }
    RecordProperty("largest_difference", std::to_string(largest_difference));
}

INSTANTIATE_TEST_SUITE_P(Real, MetalModelTest, kRealModels, [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot
