// Checkers against mutants of right kernels (mutants.metal): a barrier deleted, a guard made always true, an
// initialisation deleted, one at a time. All are found but those whose line says why it is as good as before.
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

// What a line becomes in its mutant; nothing if it has none.
std::optional<std::string> mutated(const std::string& line) {
    const bool comment = line.starts_with("//");
    if (comment) return std::nullopt;
    if (line.find("_barrier(mem_flags") != std::string::npos) return "";
    if (line.find("// initialises") != std::string::npos) return "";
    static const std::regex kGuard(R"(^(\s*)if \((.*)\) \{( *//.*)?$)");
    std::smatch match;
    if (std::regex_match(line, match, kGuard)) return match[1].str() + "if (true) {";
    return std::nullopt;
}

// Of the kernel whose launch is at `line`, up to the next launch.
std::vector<Mutant> mutants_of(const std::vector<std::string>& lines, size_t line) {
    std::vector<Mutant> mutants;
    for (++line; line < lines.size() && !lines[line].starts_with("// good"); ++line) {
        const auto text = mutated(lines[line]);
        if (text) mutants.push_back({line, *text, lines[line].find("equivalent: ") != std::string::npos});
    }
    return mutants;
}

size_t launch_line(const std::vector<std::string>& lines, const std::string& kernel) {
    size_t line = 0;
    while (line < lines.size() && lines[line].find("\"kernel\": \"" + kernel + "\"") == std::string::npos)
        ++line;
    return line;
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
            << right.kernel() << ", line " << mutant.line + 1 << ": " << lines[mutant.line] << "\n"
            << metal::check::to_text(outcome.findings, metal::check::lines_of_files());
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Mutation, ::testing::ValuesIn(check_fixtures("mutants.metal")),
                         [](const auto& fixture) { return fixture.param.kernel(); });

}  // namespace
}  // namespace ingot::tests
