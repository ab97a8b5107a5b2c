// What tests of mistakes expect of the program: the exit code, one line on stderr, nothing on stdout.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_program.h"

namespace ingot::test {

inline constexpr int kFailed = 1, kWrongUsage = 2;

inline void expect_one_line(const ProgramResult& result, const std::string& command) {
    EXPECT_EQ("", result.out) << "an error leaves stdout alone";
    EXPECT_THAT(result.err, testing::StartsWith("ingot " + command + ": "));
    EXPECT_EQ(1, std::ranges::count(result.err, '\n')) << result.err;
}

// Fails with one line that contains all of `parts`.
inline void expect_failure(const std::vector<std::string>& arguments, const std::vector<std::string>& parts,
                           const ProgramInput& input = {}) {
    const ProgramResult result = run_program(arguments, input);
    EXPECT_EQ(kFailed, result.exit_code) << result.err;
    expect_one_line(result, arguments[0]);
    for (const std::string& part : parts) EXPECT_THAT(result.err, testing::HasSubstr(part));
}

inline void expect_wrong_usage(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& parts) {
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(kWrongUsage, result.exit_code) << result.err;
    EXPECT_EQ("", result.out);
    for (const std::string& part : parts) EXPECT_THAT(result.err, testing::HasSubstr(part));
}

}  // namespace ingot::test
