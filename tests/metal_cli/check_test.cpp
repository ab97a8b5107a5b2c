// `ingot metal check --launch` and `ingot metal run --check`, `--count`: reports, exit codes, JSON, SARIF.
#include <gmock/gmock.h>

#include "metal_cli/program.h"

namespace ingot::metal::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kReverse =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void reverse(device const float* in, device float* out, uint t [[thread_index_in_threadgroup]]) "
    "{\n"
    "    threadgroup float shared[64];\n"
    "    shared[t] = in[t];\n"
    "    BARRIER\n"
    "    out[t] = shared[63 - t];\n"
    "}\n";
constexpr const char* kFlags =
    " --grid 1 --threads 64 --buffer 0=randn:f32[64]:seed=1 --buffer 1=out:result.npy:f32[64]";

class CheckCommand : public Program {
  protected:
    void SetUp() override {
        std::string text = kReverse;
        write("wrong.metal", text.replace(text.find("BARRIER"), 7, "// no barrier"));
        text = kReverse;
        write("right.metal",
              text.replace(text.find("BARRIER"), 7, "threadgroup_barrier(mem_flags::mem_threadgroup);"));
        write("reverse.launch.json",
              R"({"kernel": "reverse", "grid": 1, "threads": [64],
                  "buffers": {"0": "randn:f32[64]:seed=1", "1": "out:f32[64]"}})");
    }
};

TEST_F(CheckCommand, NamesTheLineOfARaceAndFailsWith1) {
    const std::string commands[] = {"check wrong.metal --launch reverse.launch.json",
                                    std::string("run wrong.metal --check") + kFlags};
    for (const std::string& command : commands) {
        const Outcome outcome = metal(command);
        EXPECT_EQ(1, outcome.status) << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr("wrong.metal:5: threadgroup-race: thread ("));
        EXPECT_THAT(outcome.output, HasSubstr("of threadgroup variable 'shared', which thread ("));
        EXPECT_THAT(outcome.output,
                    HasSubstr("\n     5 |     shared[t] = in[t];\n     7 |     out[t] = shared[63 - t];\n"));
        EXPECT_THAT(outcome.output, HasSubstr("a finding of kernel 'reverse'"));
    }
}

TEST_F(CheckCommand, FindsNothingInARightKernel) {
    EXPECT_EQ("no findings\n", good("check right.metal --launch reverse.launch.json"));
    EXPECT_EQ("no findings\n", good(std::string("run right.metal --check=all") + kFlags));
    EXPECT_THAT(read("result.npy"), HasSubstr("NUMPY"));
}

TEST_F(CheckCommand, OnlyTheCheckersThatWereAskedForLook) {
    EXPECT_EQ("no findings\n", good(std::string("run wrong.metal --check=bounds,simd") + kFlags));
    EXPECT_EQ(1, metal("check wrong.metal --launch reverse.launch.json --check race").status);
}

TEST_F(CheckCommand, ALaunchThatCannotBeMadeFailsWith2) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"kernel": "other", "grid": 1, "threads": 64})", "no kernel 'other'"},
        {R"({"grid": 1})", "\"threads\" is missing"},
        {R"({"threads": 64})", "one of \"grid\" and \"grid_threads\" is needed"},
        {R"({"grid": 1, "threads": "many"})", "\"threads\": one to three numbers is expected, not \"many\""},
        {R"({"grid": 1, "threads": 64, "speed": 3})", "no key \"speed\"; there are file, kernel, grid"},
        {R"({"grid": 1, "threads": 64, "buffers": {"0": "zeros:q7[4]"}})", "q7"},
        {R"({"grid": 1, "threads": 4096})", "1 to 1024 threads"},
        {"[1", "it isn't a JSON object"},
    };
    for (const auto& [launch, message] : cases) {
        write("bad.launch.json", launch);
        const Outcome outcome = metal("check right.metal --launch bad.launch.json");
        EXPECT_EQ(2, outcome.status) << launch << outcome.output;
        EXPECT_THAT(outcome.output, HasSubstr(message)) << launch;
    }
    EXPECT_EQ(2, metal("check right.metal --launch missing.json").status);
    EXPECT_EQ(2, metal("check right.metal --launch reverse.launch.json --check spelling").status);
}

TEST_F(CheckCommand, SourceWithoutALaunchIsRefused) {
    EXPECT_THAT(bad("check right.metal"), HasSubstr("name a launch with --launch"));
}

TEST_F(CheckCommand, PrintsJson) {
    const Outcome outcome = metal("check wrong.metal --launch reverse.launch.json --json");
    EXPECT_EQ(1, outcome.status);
    // Both streams are in one text.
    const size_t begin = outcome.output.find('{'), end = outcome.output.rfind('}');
    ASSERT_NE(std::string::npos, begin);
    const auto json = nlohmann::json::parse(outcome.output.substr(begin, end - begin + 1), nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.output;
    EXPECT_EQ("reverse", json["kernel"]);
    EXPECT_EQ("fibers", json["executor"]);
    ASSERT_EQ(1u, json["findings"].size());
    const auto& finding = json["findings"][0];
    EXPECT_EQ("threadgroup-race", finding["kind"]);
    EXPECT_EQ("race", finding["checker"]);
    EXPECT_EQ(5, finding["place"]["line"]);
    EXPECT_EQ(7, finding["other"]["line"]);
    EXPECT_EQ("threadgroup variable 'shared'", finding["memory"]);
}

TEST_F(CheckCommand, WritesSarif) {
    EXPECT_EQ(1, metal("check wrong.metal --launch reverse.launch.json --sarif log.sarif").status);
    const auto log = nlohmann::json::parse(read("log.sarif"), nullptr, false);
    ASSERT_TRUE(log.is_object());
    EXPECT_EQ("2.1.0", log["version"]);
    const auto& run = log["runs"][0];
    const auto& result = run["results"][0];
    EXPECT_EQ("threadgroup-race", result["ruleId"]);
    EXPECT_EQ("threadgroup-race", run["tool"]["driver"]["rules"][result["ruleIndex"].get<size_t>()]["id"]);
    const auto& location = result["locations"][0]["physicalLocation"];
    EXPECT_THAT(location["artifactLocation"]["uri"].get<std::string>(), HasSubstr("wrong.metal"));
    EXPECT_EQ(5, location["region"]["startLine"]);
}

TEST_F(CheckCommand, VectorRunsAreHandedToFibersAndSaySo) {
    const Outcome outcome = metal(std::string("run right.metal --executor vector --check") + kFlags);
    EXPECT_EQ(0, outcome.status);
    EXPECT_THAT(outcome.output, HasSubstr("not on vectors: checked and counted launches run on fibers"));
}

TEST_F(CheckCommand, NamesInstructionAndArgumentOfACompiledLibrary) {
    write_library("add.metallib", add_one_ir());
    const Outcome outcome = metal(
        "run add.metallib --grid 1 --threads 32 --buffer 0=out:sum.npy:i32[16] --buffer 1=zeros:i32[32] "
        "--check");
    EXPECT_EQ(1, outcome.status);
    EXPECT_THAT(outcome.output, HasSubstr("kernel 'k', instruction "));
    EXPECT_THAT(outcome.output, HasSubstr("writes 4 bytes at byte 64 of buffer 0"));
    EXPECT_THAT(outcome.output, HasSubstr("which has 64 bytes: it ends 4 past the last."));
}

TEST_F(CheckCommand, CountsByLine) {
    const std::string text = good(std::string("run right.metal --by-line") + kFlags);
    EXPECT_THAT(text, HasSubstr("              64 threads\n"));
    EXPECT_THAT(text, HasSubstr("               1 threadgroup barriers\n"));
    EXPECT_THAT(text, HasSubstr("buffer 0 ('in')"));
    EXPECT_THAT(text, ::testing::ContainsRegex("256 .* 5 \\|     shared\\[t\\] = in\\[t\\];"));
    const auto json = nlohmann::json::parse(good(std::string("run right.metal --count --json") + kFlags));
    EXPECT_EQ(1, json["counts"]["barriers"]);
    EXPECT_EQ(256, json["counts"]["buffers"][1]["bytes_written"]);
    EXPECT_THAT(json, Not(::testing::Contains("findings")));
}

}  // namespace
}  // namespace ingot::metal::testing
