// Checkers against mutants of right kernels (mutants*.metal): a barrier deleted or its flags, a guard made
// always true, an initialisation deleted, one at a time. All are found but those whose line says why it is as
// good as before.
#include <fstream>
#include <regex>

#include <gmock/gmock.h>

#include "metal/check/fixtures.h"
#include "metal/check/report.h"

namespace ingot::tests {
namespace {

struct Mutant {
    size_t line = 0;  // from 0 on
    std::string text;
    bool equivalent = false;
};

std::vector<std::string> lines_of(const std::filesystem::path& path) {
    std::vector<std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

// A variable's declaration without one of its values: "float a = 0, b = 1;" -> "float a, b = 1;", ...
void drop_values(const std::string& line, std::vector<std::string>& mutants) {
    static const std::regex kDeclaration(R"(^ +(float|half|int|uint|bool|float2|float4) \w+ = .*;.*$)");
    static const std::regex kValue(R"((\w+) = (-?[\w.+*/ ]+)([,;]))");
    if (!std::regex_match(line, kDeclaration)) return;
    for (std::sregex_iterator value(line.begin(), line.end(), kValue), end; value != end; ++value) {
        mutants.push_back(line.substr(0, size_t(value->position())) + value->str(1) + value->str(3) +
                          line.substr(size_t(value->position() + value->length())));
    }
}

// What a line becomes in its mutants.
std::vector<std::string> mutated(const std::string& line) {
    std::vector<std::string> mutants;
    if (line.starts_with("//")) return mutants;
    static const std::regex kGuard(R"(^(\s*)if \((.*)\) \{( *//.*)?$)");
    static const std::regex kFlags("mem_flags::\\w+");
    std::smatch match;
    if (line.find("_barrier(mem_flags") != std::string::npos) {
        mutants.emplace_back();
        mutants.push_back(std::regex_replace(line, kFlags, "mem_flags::mem_none"));
    } else if (line.find("// initialises") != std::string::npos) {
        mutants.emplace_back();
    } else if (std::regex_match(line, match, kGuard)) {
        mutants.push_back(match[1].str() + "if (true) {");
    } else {
        drop_values(line, mutants);
    }
    return mutants;
}

// Of the kernel whose launch is at `line`, up to the next launch.
std::vector<Mutant> mutants_of(const std::vector<std::string>& lines, size_t line) {
    std::vector<Mutant> mutants;
    for (++line; line < lines.size() && !lines[line].starts_with("// good"); ++line) {
        const bool equivalent = lines[line].find("equivalent: ") != std::string::npos;
        for (std::string& text : mutated(lines[line])) mutants.push_back({line, std::move(text), equivalent});
    }
    return mutants;
}

size_t launch_line(const std::vector<std::string>& lines, const std::string& kernel) {
    size_t line = 0;
    while (line < lines.size() && lines[line].find("\"kernel\": \"" + kernel + "\"") == std::string::npos)
        ++line;
    return line;
}

std::vector<CheckFixture> right_kernels() {
    std::vector<CheckFixture> kernels = check_fixtures("mutants.metal");
    for (CheckFixture& other : check_fixtures("mutants_rows.metal")) kernels.push_back(std::move(other));
    return kernels;
}

class Mutation : public ::testing::TestWithParam<CheckFixture> {};

TEST_P(Mutation, IsFoundUnlessItIsEquivalent) {
    const CheckFixture& right = GetParam();
    const std::vector<std::string> lines = lines_of(right.file);
    const auto mutants = mutants_of(lines, launch_line(lines, right.kernel()));
    ASSERT_FALSE(mutants.empty());
    const auto checkers = *metal::check::parse_checkers("default");
    for (const Mutant& mutant : mutants) {
        std::string source;
        for (size_t i = 0; i < lines.size(); ++i)
            source += (i == mutant.line ? mutant.text : lines[i]) + "\n";
        const auto outcome = run_fixture_text(source, right, checkers);
        const bool found = !outcome.findings.empty();
        EXPECT_EQ(!mutant.equivalent, found)
            << right.kernel() << ", line " << mutant.line + 1 << ": " << lines[mutant.line] << " as "
            << mutant.text << "\n"
            << metal::check::to_text(outcome.findings, metal::check::lines_of_files());
    }
}

TEST(Mutants, AreAtLeastTwoHundredOfTwentyKernels) {
    size_t kernels = 0, mutants = 0;
    for (const CheckFixture& right : right_kernels()) {
        const std::vector<std::string> lines = lines_of(right.file);
        mutants += mutants_of(lines, launch_line(lines, right.kernel())).size();
        ++kernels;
    }
    EXPECT_LE(20u, kernels);
    EXPECT_LE(200u, mutants) << "of " << kernels << " kernels";
    RecordProperty("mutants", int(mutants));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Mutation, ::testing::ValuesIn(right_kernels()),
                         [](const auto& fixture) { return fixture.param.kernel(); });

}  // namespace
}  // namespace ingot::tests
