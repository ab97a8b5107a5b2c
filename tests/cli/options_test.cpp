#include "cli/options.h"

#include <limits>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Parsed {
    ModelFlags model;
    SamplingFlags sampling;
    std::string error;  // empty if the command line was accepted
};

Parsed parse(std::vector<std::string> arguments) {
    Parsed parsed;
    CLI::App app;
    add_model_flags(app, parsed.model, false);
    add_sampling_flags(app, parsed.sampling);
    std::ranges::reverse(arguments);
    try {
        app.parse(arguments);
    } catch (const CLI::ParseError& error) {
        parsed.error = error.what();
    }
    return parsed;
}

TEST(Options, FlagsSetWhatTheySay) {
    const Parsed p =
        parse({"m.gguf", "-t", "3", "--ctx", "512", "--device", "cpu", "--dump-graph", "g.dot", "--trace",
               "t.json", "--seed", "18", "--temp", "0.5", "--top-k", "7", "--greedy"});
    EXPECT_EQ("", p.error);
    EXPECT_EQ("m.gguf", p.model.model);
    EXPECT_EQ(3u, p.model.engine.threads);
    EXPECT_EQ(512u, p.model.engine.context);
    EXPECT_EQ("g.dot", p.model.engine.dump_graph);
    EXPECT_EQ("t.json", p.model.engine.trace);
    EXPECT_EQ(18u, p.sampling.options()->seed);
    EXPECT_EQ(0.5f, p.sampling.options()->temperature);
    EXPECT_EQ(7, p.sampling.options()->top_k);
    EXPECT_TRUE(p.sampling.options()->greedy);
}

TEST(Options, WithoutFlagsTheDefaultsHold) {
    const Parsed p = parse({});
    EXPECT_EQ("", p.error);
    EXPECT_EQ("", p.model.model);
    EXPECT_EQ(SamplerOptions{}.temperature, p.sampling.options()->temperature);
    EXPECT_FALSE(p.sampling.options()->greedy);
}

TEST(Options, NegativeNumbersAreValues) {
    const Parsed p = parse({"--presence-penalty", "-1.5", "--frequency-penalty=-0.25", "--penalty-last-n",
                            "-1", "--logit-bias", "5=-2.5", "--logit-bias", "6=-inf"});
    EXPECT_EQ("", p.error);
    EXPECT_EQ(-1.5f, p.sampling.sampler.presence_penalty);
    EXPECT_EQ(-0.25f, p.sampling.sampler.frequency_penalty);
    EXPECT_EQ(-1, p.sampling.sampler.penalty_last_n);
    EXPECT_THAT(p.sampling.sampler.logit_bias,
                ElementsAre(Pair(5, -2.5f), Pair(6, -std::numeric_limits<float>::infinity())));
}

TEST(Options, EverySamplerFieldIsAFlagWithItsRange) {
    for (const SamplerField& field : sampler_fields()) {
        const std::string flag = fmt::format("--{}", field.name);
        EXPECT_EQ("", parse({flag, fmt::format("{}", field.max)}).error);
        EXPECT_EQ("", parse({flag, fmt::format("{}", field.min)}).error);
        const std::string below = fmt::format("{}", field.min - 1);
        EXPECT_THAT(parse({flag, below}).error, HasSubstr(flag + ": '" + below + "' is not a"));
        for (const char* junk : {"", "abc", "1x", "nan", "1e999"})
            EXPECT_THAT(parse({flag, junk}).error, HasSubstr(flag)) << junk;
    }
}

TEST(Options, WrongValuesNameTheFlagTheValueAndTheRange) {
    EXPECT_THAT(parse({"-t", "-1"}).error, HasSubstr("--threads: '-1' is not a whole number from 0 to 1024"));
    EXPECT_THAT(parse({"-c", "2.5"}).error, HasSubstr("--ctx: '2.5' is not a whole number"));
    EXPECT_THAT(parse({"--device", "tpu"}).error, HasSubstr("--device: unknown device 'tpu'"));
    EXPECT_THAT(parse({"--logit-bias", "7"}).error, HasSubstr("'7' is not TOKEN_ID=BIAS"));
    for (const char* bad : {"=1", "x=1", "-1=1", "1=", "1=x", "1=nan", "1=inf", "99999999999=1"})
        EXPECT_THAT(parse({"--logit-bias", bad}).error, HasSubstr("is not TOKEN_ID=BIAS")) << bad;
}

// CLI11 would take them in base 8.
TEST(Options, WholeNumbersThatBeginWithZeroAreRefusedNotReinterpreted) {
    for (const auto& [text, number] : {std::pair("010", "10"), {"08", "8"}, {"+07", "7"}, {"00", "0"}})
        EXPECT_THAT(parse({"-t", text}).error,
                    HasSubstr(fmt::format("--threads: '{}' begins with 0, write {}", text, number)));
    EXPECT_EQ(0u, parse({"-t", "0"}).model.engine.threads);
    EXPECT_EQ(10u, parse({"-t", "+10"}).model.engine.threads);
    EXPECT_EQ(0.5f, parse({"--temp", "00.5"}).sampling.sampler.temperature);
}

TEST(Options, AnEmptyStopStringIsRefused) {
    EXPECT_THAT(parse({"--stop", ""}).error, HasSubstr("--stop: an empty text ends nothing"));
}

TEST(Options, StopStringsAreTakenAsTheyAre) {
    const Parsed p = parse({"--stop", "[END]", "--stop", "a,b", "--stop", "-x", "m.gguf"});
    EXPECT_EQ("", p.error);
    EXPECT_THAT(p.sampling.stop, ElementsAre("[END]", "a,b", "-x"));
    EXPECT_EQ("m.gguf", p.model.model);
}

}  // namespace
}  // namespace ingot::cli
