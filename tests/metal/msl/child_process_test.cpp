// Child processes with limits: streams, exit codes, time, no environment.
#include "metal/msl/child_process.h"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>

namespace ingot::metal::msl {
namespace {

using ::testing::HasSubstr;

ChildResult shell(const std::string& script, std::string_view input = "", const ChildLimits& limits = {}) {
    const auto result = run_child({"/bin/sh", "-c", script}, input, "extra", limits);
    EXPECT_TRUE(result) << (result ? "" : result.error().describe());
    return result ? *result : ChildResult{};
}

TEST(ChildProcess, StreamsAreInMemory) {
    const ChildResult result = shell("cat; cat /dev/fd/3; echo oops >&2; exit 3", "in");
    EXPECT_EQ("inextra", result.output);
    EXPECT_EQ("oops\n", result.errors);
    EXPECT_EQ(3, result.exit_code);
    EXPECT_EQ(0, result.signal);
    EXPECT_FALSE(result.timed_out);
}

TEST(ChildProcess, SeesNothingOfOurEnvironment) {
    ::setenv("INGOT_TEST_SECRET", "1", 1);
    EXPECT_EQ("none", shell("printf %s \"${INGOT_TEST_SECRET:-none}\"").output);
}

TEST(ChildProcess, IsStoppedWithItsChildrenAtTheLimit) {
    const ChildResult result = shell("sleep 600 & sleep 600", "", {.seconds = 0.2});
    EXPECT_TRUE(result.timed_out);
    EXPECT_EQ(SIGKILL, result.signal);
}

TEST(ChildProcess, SpinningIsStoppedToo) {
    EXPECT_TRUE(shell("while :; do :; done", "", {.seconds = 0.2}).timed_out);
}

TEST(ChildProcess, OutputIsLimited) {
    const ChildResult result = shell("exec head -c 100000 /dev/zero", "", {.output_bytes = 1000});
    EXPECT_LE(result.output.size(), 1000u);
    EXPECT_NE(0, result.exit_code + result.signal);
}

TEST(ChildProcess, AProgramThatIsNotThereIsAnError) {
    const auto result = run_child({"/nowhere/compiler"}, "", "", {});
    ASSERT_FALSE(result);
    EXPECT_EQ(ErrorKind::kNotFound, result.error().kind);
    EXPECT_THAT(result.error().describe(), HasSubstr("/nowhere/compiler"));
}

}  // namespace
}  // namespace ingot::metal::msl
