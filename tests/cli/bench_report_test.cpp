#include "cli/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/model_facts.h"

namespace ingot::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

BenchReport sample_report() {
    BenchReport report;
    report.file_name = "a,\"b\".gguf";
    report.model = "llama 135M";
    report.quant = "Q4_1";
    report.backend = "cpu (plain)";
    report.weight_bytes = 98'000'000;
    report.parameters = 134'515'008;
    report.threads = 2;
    report.tests = {{512, 0, {1.0, 2.0, 4.0}}, {0, 128, {2.0}}};
    report.load_seconds = 0.25;
    report.first_token_seconds = 1.5;
    report.first_token_prompt = 512;
    report.peak_memory_bytes = 200ull << 20;
    return report;
}

TEST(BenchReport, MeanAndDeviationOfTheSample) {
    // 512, 256, 128 tokens/s: mean 298.67, deviation sqrt(((213.33)^2 + (42.67)^2 + (170.67)^2) / 2) = 195.52
    const auto [mean, deviation] = mean_deviation(sample_report().tests[0].rates());
    EXPECT_NEAR(298.667, mean, 1e-3);
    EXPECT_NEAR(195.524, deviation, 1e-2);
    EXPECT_EQ(0, mean_deviation({5}).deviation);
}

TEST(BenchReport, NamesTellDepthAndStreamsWhereTheyMatter) {
    EXPECT_EQ("tg128", (BenchTest{.generated_tokens = 128}.name()));
    const BenchTest test{.generated_tokens = 128, .seconds = {2.0}, .depth = 4096, .streams = 4};
    EXPECT_EQ("tg128 @ d4096 x4", test.name());
    EXPECT_EQ(256, test.rates()[0]) << "of all streams";
}

TEST(BenchReport, MarkdownIsOneAlignedTable) {
    EXPECT_EQ(
        "| model      | size     | params | quant | backend     | threads | test  |             t/s |\n"
        "| ---------- | -------- | ------ | ----- | ----------- | ------- | ----- | --------------: |\n"
        "| llama 135M | 93.5 MiB | 135M   | Q4_1  | cpu (plain) | 2       | pp512 | 298.67 ± 195.52 |\n"
        "| llama 135M | 93.5 MiB | 135M   | Q4_1  | cpu (plain) | 2       | tg128 |    64.00 ± 0.00 |\n"
        "\n"
        "load: 0.25 s, first token after a prompt of 512: 1.500 s, peak memory: 200.0 MiB\n",
        to_markdown(sample_report()));
}

TEST(BenchReport, CsvQuotesAndKeepsOneHeader) {
    const std::string csv = to_csv(sample_report());
    EXPECT_EQ(3, std::ranges::count(csv, '\n'));
    EXPECT_THAT(csv,
                StartsWith("model_filename,model_type,quant,model_size,model_n_params,backends,n_threads,"));
    EXPECT_THAT(
        csv,
        HasSubstr("\n\"a,\"\"b\"\".gguf\",llama 135M,Q4_1,98000000,134515008,cpu (plain),2,pp512,512,0,0,"));
}

TEST(BenchReport, JsonHoldsEveryFigureUnderItsName) {
    const auto json = nlohmann::json::parse(to_json(sample_report()));
    ASSERT_EQ(2u, json.size());
    EXPECT_EQ("pp512", json[0]["test"]);
    EXPECT_EQ(512, json[0]["n_prompt"]);
    EXPECT_EQ(0, json[0]["n_gen"]);
    EXPECT_EQ((std::vector<double>{512, 256, 128}), json[0]["samples_ts"].get<std::vector<double>>());
    EXPECT_EQ(2333333333, json[0]["avg_ns"].get<int64_t>());
    EXPECT_EQ(128, json[1]["n_gen"]);
    EXPECT_EQ(64.0, json[1]["avg_ts"]);
    EXPECT_EQ(0.25, json[1]["load_seconds"]);
    EXPECT_EQ(200u << 20, json[1]["peak_memory_bytes"]);
}

TEST(ModelFacts, CountsAndBytesAreShort) {
    EXPECT_EQ("999", short_count(999));
    EXPECT_EQ("1.0K", short_count(1000));
    EXPECT_EQ("135M", short_count(134'515'008));
    EXPECT_EQ("1.5B", short_count(1'543'714'304));
    EXPECT_EQ("1.0B", short_count(999'900'000));
    EXPECT_EQ("0 B", short_bytes(0));
    EXPECT_EQ("1023 B", short_bytes(1023));
    EXPECT_EQ("1.0 KiB", short_bytes(1024));
    EXPECT_EQ("1.0 GiB", short_bytes(1ull << 30));
}

}  // namespace
}  // namespace ingot::cli
