// Oracles: golden draws of an independent sampler in Python (tools/oracle/sampler_golden.py), closed-form
// distributions with a chi-square bound, and cases small enough to work out by hand.
#include "llm/text/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"

namespace ingot {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Everything off: a plain draw from softmax(logits).
SamplerOptions plain() {
    SamplerOptions options;
    options.temperature = 1;
    options.top_k = 0;
    options.top_p = 1;
    options.min_p = 0;
    return options;
}

SamplerOptions options_from(const json& j) {
    SamplerOptions o = plain();
    o.temperature = j.value("temperature", o.temperature);
    o.top_k = j.value("top_k", o.top_k);
    o.top_p = j.value("top_p", o.top_p);
    o.min_p = j.value("min_p", o.min_p);
    o.typical_p = j.value("typical_p", o.typical_p);
    o.repeat_penalty = j.value("repeat_penalty", o.repeat_penalty);
    o.presence_penalty = j.value("presence_penalty", o.presence_penalty);
    o.frequency_penalty = j.value("frequency_penalty", o.frequency_penalty);
    o.penalty_last_n = j.value("penalty_last_n", o.penalty_last_n);
    if (j.contains("logit_bias"))
        o.logit_bias = j["logit_bias"].get<std::vector<std::pair<TokenId, float>>>();
    return o;
}

std::map<TokenId, int> draw_counts(Sampler& sampler, const std::vector<float>& logits, int draws) {
    std::map<TokenId, int> counts;
    for (int i = 0; i < draws; ++i) ++counts[sampler.sample(logits).value()];
    return counts;
}

TEST(Sampler, DrawsTheTokensOfAnIndependentSampler) {
    const json cases = json::parse(read_text_file(INGOT_TEST_DATA "/sampler/golden.json").value());
    ASSERT_GE(cases.size(), 50u);
    for (const json& golden : cases) {
        SamplerOptions options = options_from(golden["options"]);
        options.seed = std::stoull(golden["seed"].get<std::string>());
        Sampler sampler(options);
        for (const TokenId token : golden["history"].get<std::vector<TokenId>>()) sampler.accept(token);
        const auto logits = golden["logits"].get<std::vector<float>>();
        for (const TokenId token : golden["tokens"].get<std::vector<TokenId>>())
            ASSERT_EQ(token, sampler.sample(logits).value()) << golden["options"];
    }
}

TEST(Sampler, DrawsEverySurvivorAndNothingElse) {
    const json cases = json::parse(read_text_file(INGOT_TEST_DATA "/sampler/golden.json").value());
    for (const json& golden : cases) {
        const auto expected = golden["survivors"].get<std::set<TokenId>>();
        SamplerOptions options = options_from(golden["options"]);
        options.seed = 7;
        // At a huge temperature all survivors are about equally likely; the steps before it see none of it.
        options.temperature = 1000;
        Sampler sampler(options);
        for (const TokenId token : golden["history"].get<std::vector<TokenId>>()) sampler.accept(token);
        const auto counts = draw_counts(sampler, golden["logits"].get<std::vector<float>>(), 4000);
        std::set<TokenId> drawn;
        for (const auto& [token, count] : counts) drawn.insert(token);
        EXPECT_EQ(expected, drawn) << golden["options"];
    }
}

TEST(Sampler, FollowsSoftmaxAtEachTemperature) {
    const std::vector<float> logits = {2.0f, 1.0f, 0.5f, 0.0f, -0.5f, -1.0f, -3.0f, 1.5f};
    constexpr int kDraws = 40000;
    for (const float temperature : {0.5f, 1.0f, 2.0f}) {
        SamplerOptions options = plain();
        options.temperature = temperature;
        options.seed = 42;
        Sampler sampler(options);
        const auto counts = draw_counts(sampler, logits, kDraws);
        double total = 0, chi_square = 0;
        for (const float logit : logits) total += std::exp(double(logit) / temperature);
        for (size_t i = 0; i < logits.size(); ++i) {
            const double expected = kDraws * std::exp(double(logits[i]) / temperature) / total;
            const auto found = counts.find(TokenId(i));
            const double observed = found == counts.end() ? 0 : found->second;
            chi_square += (observed - expected) * (observed - expected) / expected;
        }
        EXPECT_LT(chi_square, 24.3) << "temperature " << temperature;  // 7 degrees of freedom, p = 0.001
    }
}

TEST(Sampler, GreedyTakesTheBestLogitAndTheFirstOfATie) {
    SamplerOptions options;
    options.greedy = true;
    EXPECT_EQ(2, Sampler(options).sample(std::vector<float>{-1, 0, 3, 3, 1}).value());
    options.greedy = false;
    options.temperature = 0;
    EXPECT_EQ(2, Sampler(options).sample(std::vector<float>{-1, 0, 3, 3, 1}).value());
}

TEST(Sampler, GreedyHeedsBiasAndPenalties) {
    SamplerOptions options;
    options.greedy = true;
    options.logit_bias = {{0, -kInf}};
    options.repeat_penalty = 2;
    Sampler sampler(options);
    const std::vector<float> logits = {9, 4, 3, -1};
    EXPECT_EQ(1, sampler.sample(logits).value()) << "token 0 is banned";
    sampler.accept(1);
    EXPECT_EQ(2, sampler.sample(logits).value()) << "4 / 2 is below 3";
    sampler.truncate(0);
    EXPECT_EQ(1, sampler.sample(logits).value()) << "nothing is penalized any more";
}

TEST(Sampler, RepeatPenaltyMakesNegativeLogitsWorse) {
    SamplerOptions options;
    options.greedy = true;
    options.repeat_penalty = 2;
    Sampler sampler(options);
    sampler.accept(0);
    EXPECT_EQ(1, sampler.sample(std::vector<float>{-1.0f, -1.5f}).value());
}

TEST(Sampler, SameSeedSameTokensOtherSeedOthers) {
    const std::vector<float> logits(100, 0.0f);
    const auto tokens = [&](uint64_t seed) {
        SamplerOptions options = plain();
        options.seed = seed;
        Sampler sampler(options);
        std::vector<TokenId> drawn;
        for (int i = 0; i < 20; ++i) drawn.push_back(sampler.sample(logits).value());
        return drawn;
    };
    EXPECT_EQ(tokens(1), tokens(1));
    EXPECT_NE(tokens(1), tokens(2));
}

TEST(Sampler, TopPAloneKeepsTheWholeHeadOfALargeFlatVocabulary) {
    // 100,000 equally likely tokens: half of the probability is the first 50,000 ids (ties go to lower ids).
    SamplerOptions options = plain();
    options.top_p = 0.5f;
    Sampler sampler(options);
    const std::vector<float> logits(100000, 1.0f);
    TokenId highest = 0;
    for (int i = 0; i < 20; ++i) highest = std::max(highest, sampler.sample(logits).value());
    EXPECT_LT(highest, 50002);
    EXPECT_GT(highest, 40000);
}

// The definition, weighing and sorting everything: which tokens of these logits may be drawn, with their
// weights.
std::map<TokenId, double> survivors(const std::vector<float>& logits, const SamplerOptions& options) {
    std::vector<std::pair<double, TokenId>>
        order;  // less the logit, so that the likeliest and lowest id comes first
    for (size_t i = 0; i < logits.size(); ++i) order.emplace_back(-double(logits[i]), TokenId(i));
    std::sort(order.begin(), order.end());
    const double top = order[0].first;
    double total = 0, held = 0;
    for (const auto& [negated, id] : order) total += std::exp(top - negated);
    std::map<TokenId, double> left;
    for (const auto& [negated, id] : order) {
        const double weight = std::exp(top - negated);
        if (weight < double(options.min_p)) break;
        left[id] = std::exp((top - negated) / options.temperature);
        held += weight;
        if (options.top_p < 1 && held >= double(options.top_p) * total) break;
    }
    return left;
}

TEST(Sampler, ALargeVocabularyGivesTheTokensOfTheDefinition) {
    for (const double spread : {0.5, 3.0, 12.0}) {
        std::mt19937 generator(7);
        std::normal_distribution<double> normal(0, spread);
        std::vector<float> logits(30011);
        for (float& logit : logits) logit = float(normal(generator));
        logits[100] = logits[200] = logits[29000];
        logits[5] = -kInf;
        for (const auto& [top_p, min_p] : {std::pair(1.0f, 0.05f),
                                           {0.95f, 0.0f},
                                           {0.5f, 0.0f},
                                           {0.9f, 0.02f},
                                           {0.999999f, 0.0f},
                                           {1.0f, 1.0f},
                                           {0.0f, 0.0f},
                                           {1.0f, 0.0f}}) {
            SamplerOptions options = plain();
            options.top_p = top_p, options.min_p = min_p, options.temperature = 1.5f, options.seed = 11;
            const std::map<TokenId, double> expected = survivors(logits, options);
            double total = 0;
            for (const auto& [id, weight] : expected) total += weight;
            Sampler sampler(options);
            uint64_t random = options.seed;
            for (int draw = 0; draw < 40; ++draw) {
                // SplitMix64's next number, as a share of the weights in order of the ids.
                uint64_t z = random += 0x9E3779B97F4A7C15u;
                z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
                z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
                double left = double((z ^ (z >> 31)) >> 11) * 0x1p-53 * total;
                auto token = expected.begin();
                while (left >= token->second && std::next(token) != expected.end()) left -= (token++)->second;
                ASSERT_EQ(token->first, sampler.sample(logits).value())
                    << "spread " << spread << ", top-p " << top_p << ", min-p " << min_p << ", draw " << draw;
            }
        }
    }
}

TEST(Sampler, NaNOrInfinityIsAnErrorThatNamesTheFirstIndex) {
    Sampler sampler(plain());
    for (const float bad : {kNaN, kInf}) {
        const auto result = sampler.sample(std::vector<float>{0, 1, bad, 2, kNaN});
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(ErrorKind::kCorrupt, result.error().kind);
        EXPECT_THAT(result.error().message, HasSubstr("logit 2 of 5"));
    }
    const auto nothing = sampler.sample(std::vector<float>{-kInf, -kInf});
    ASSERT_FALSE(nothing.has_value());
    EXPECT_EQ(ErrorKind::kCorrupt, nothing.error().kind);
}

TEST(Sampler, MinusInfinityIsNeverDrawn) {
    Sampler sampler(plain());
    for (int i = 0; i < 200; ++i) EXPECT_EQ(1, sampler.sample(std::vector<float>{-kInf, 0, -kInf}).value());
}

TEST(Sampler, BiasOutsideTheVocabularyIsNamed) {
    SamplerOptions options = plain();
    options.logit_bias = {{7, 1.0f}};
    const auto result = Sampler(options).sample(std::vector<float>{0, 0});
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(ErrorKind::kInvalidArgument, result.error().kind);
    EXPECT_THAT(result.error().message, HasSubstr("token 7"));
    EXPECT_THAT(result.error().message, HasSubstr("2 tokens"));
}

TEST(SamplerOptions, EachFieldRefusesWhatLiesOutsideItsRange) {
    EXPECT_TRUE(SamplerOptions{}.validate().has_value());
    for (const SamplerField& field : sampler_fields()) {
        for (const bool above : {false, true}) {
            SamplerOptions options;
            std::visit(
                [&](auto member) {
                    using Value = std::remove_reference_t<decltype(options.*member)>;
                    options.*member = Value(above ? field.max : field.min);
                    EXPECT_TRUE(options.validate().has_value()) << field.name << " at its bound";
                    options.*member = Value(above ? field.max + 1 : field.min - 1);
                },
                field.member);
            const auto result = options.validate();
            ASSERT_FALSE(result.has_value()) << field.name;
            EXPECT_EQ(ErrorKind::kInvalidArgument, result.error().kind);
            EXPECT_THAT(result.error().message, HasSubstr(std::string(field.name)));
        }
    }
    SamplerOptions options;
    options.temperature = kNaN;
    EXPECT_FALSE(options.validate().has_value());
    options = {};
    options.logit_bias = {{0, kNaN}};
    EXPECT_FALSE(options.validate().has_value());
    options.logit_bias = {{-1, 0.0f}};
    EXPECT_FALSE(options.validate().has_value());
}

// The sum of two finite floats, a product and a quotient each leave the range of floats.
TEST(Sampler, RefusesALogitThatBiasOrPenaltiesTakeToInfinity) {
    constexpr float kLargest = std::numeric_limits<float>::max();
    const std::vector<float> logits = {1.0f, kLargest, 2.0f};
    SamplerOptions biased = plain(), divided = plain();
    biased.logit_bias = {{1, kLargest}};
    divided.repeat_penalty = 0.1f;
    for (const SamplerOptions& base : {biased, divided}) {
        for (const bool greedy : {false, true}) {
            SamplerOptions options = base;
            options.greedy = greedy;
            options.top_p = 0.9f;
            options.typical_p = 0.9f;
            Sampler sampler(options);
            sampler.accept(1);
            const auto token = sampler.sample(logits);
            ASSERT_FALSE(token);
            EXPECT_EQ(ErrorKind::kInvalidArgument, token.error().kind);
            EXPECT_THAT(token.error().message, HasSubstr("token 1 from 3.4028235e+38 to inf"));
        }
    }
}

}  // namespace
}  // namespace ingot
