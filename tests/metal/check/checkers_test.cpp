// Each checker on kernels that are wrong in one way (tests/metal/check/*.metal), and on the same kernels put
// right. The reports of all wrong ones stand in findings.txt: what a user reads is compared, word for word.
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "metal/check/fixtures.h"
#include "metal/check/report.h"
#include "metal/ir_text.h"
#include "metal/support.h"

namespace ingot::tests {
namespace {

using metal::check::CheckerId;
using metal::check::Finding;

std::vector<CheckerId> every_checker() {
    return *metal::check::parse_checkers("all");
}

class Checkers : public ::testing::TestWithParam<CheckFixture> {};

TEST_P(Checkers, FindWhatIsWrongAndNothingElse) {
    const CheckFixture& fixture = GetParam();
    const auto outcome = run_fixture(fixture, every_checker());
    EXPECT_EQ(metal::ExecutorKind::kFibers, outcome.report.executor);
    EXPECT_EQ(metal::LaunchStatus::kDone, outcome.report.status) << outcome.report.message;
    const std::string text = metal::check::to_text(outcome.findings, metal::check::lines_of_files());
    if (!fixture.bad) {
        EXPECT_TRUE(outcome.findings.empty()) << text;
        return;
    }
    ASSERT_FALSE(outcome.findings.empty()) << fixture.kernel() << ": nothing was found";
    EXPECT_EQ(fixture.kind, metal::check::facts_of(outcome.findings[0].kind).name) << text;
}

// In a run of its own a checker finds the same.
TEST_P(Checkers, AreIndependentOfEachOther) {
    const CheckFixture& fixture = GetParam();
    if (!fixture.bad) return;
    for (const auto& kind : metal::check::all_finding_kinds()) {
        if (kind.name != fixture.kind) continue;
        const auto outcome = run_fixture(fixture, {kind.checker});
        ASSERT_FALSE(outcome.findings.empty()) << fixture.kernel();
        EXPECT_EQ(fixture.kind, metal::check::facts_of(outcome.findings[0].kind).name);
    }
}

std::string fixture_name(const ::testing::TestParamInfo<CheckFixture>& info) {
    std::string name =
        fmt::format("{}_{}_{}", info.param.bad ? "bad" : "good", info.param.kind, info.param.kernel());
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Checkers, ::testing::ValuesIn(check_fixtures()), fixture_name);

TEST(CheckerTables, EachKindOfFindingHasAWrongKernelAndARightOne) {
    std::set<std::string> bad, good;
    for (const CheckFixture& fixture : check_fixtures()) (fixture.bad ? bad : good).insert(fixture.kind);
    for (const ApiFixture& fixture : api_fixtures()) (fixture.bad ? bad : good).insert(fixture.kind);
    for (const auto& kind : metal::check::all_finding_kinds()) {
        EXPECT_TRUE(bad.contains(std::string(kind.name))) << kind.name;
        EXPECT_TRUE(good.contains(std::string(kind.name))) << kind.name;
    }
}

TEST(CheckerTables, ListsOfCheckersAreReadAsWritten) {
    EXPECT_EQ((std::vector{CheckerId::kRace, CheckerId::kBounds}),
              *metal::check::parse_checkers("race,bounds"));
    EXPECT_EQ(metal::check::all_checkers().size(), metal::check::parse_checkers("all")->size());
    EXPECT_THAT(*metal::check::parse_checkers("default"),
                ::testing::Not(::testing::Contains(CheckerId::kValues)));
    const auto unknown = metal::check::parse_checkers("race,spelling");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message,
                ::testing::HasSubstr("no checker 'spelling'; there are bounds, race"));
}

// Every paragraph, with file names cut to their last part.
std::string all_reports() {
    std::string text;
    const std::string folder = check_fixture_folder().string() + "/";
    for (const CheckFixture& fixture : check_fixtures()) {
        if (!fixture.bad) continue;
        const auto outcome = run_fixture(fixture, every_checker());
        text += to_text(outcome.findings, metal::check::lines_of_files());
        text += "\n";
    }
    for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
        text.erase(at, folder.size());
    }
    return text;
}

std::string file_text(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

// The last thread never comes to the barrier where the others are: it is stopped before.
TEST(CheckerReports, SayNothingOfThreadsThatTheTimeLimitStopped) {
    const std::string ir = metal::testing::kernel_ir(
        1, {"thread_position_in_grid"},
        "%last = icmp eq i32 %thread_position_in_grid, 31\nbr i1 %last, label %wait, label %meet\n"
        "wait:\n%x = load volatile i32, ptr addrspace(1) %b0, align 4\n%zero = icmp eq i32 %x, 0\n"
        "br i1 %zero, label %wait, label %meet\n"
        "meet:\ncall void @air.wg.barrier(i32 2, i32 1)\nret void",
        "declare void @air.wg.barrier(i32, i32) convergent\n");
    metal::CompileOptions options;
    options.instrument = true;
    const auto kernel = metal::testing::text_kernel(ir, options);
    ASSERT_NE(nullptr, kernel);
    uint32_t never = 0;
    metal::Launch launch;
    launch.grid_threads = launch.group_threads = {32, 1, 1};
    launch.buffers[0] = {&never, sizeof never};
    launch.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    metal::check::Request request;
    request.checkers = every_checker();
    const auto outcome = run_checked(metal::testing::the_executor(), *kernel, launch, request);
    ASSERT_TRUE(outcome) << outcome.error().describe();
    EXPECT_EQ(metal::LaunchStatus::kTimeLimit, outcome->report.status);
    EXPECT_TRUE(outcome->findings.empty()) << outcome->findings.front().text;
}

TEST(CheckerReports, AreWordForWordWhatFindingsTxtHolds) {
    const std::string seen = all_reports();
    const std::string expected = file_text(check_fixture_folder() / "findings.txt");
    // Where what is seen goes when the words are changed on purpose.
    if (const char* path = std::getenv("INGOT_WRITE_FINDINGS")) std::ofstream(path) << seen;
    EXPECT_EQ(expected, seen);
}

// The page on checking shows a finding of each kind; those of kernels as they are printed.
TEST(CheckerReports, StandInTheDocsOneOfEachKind) {
    const std::string page =
        file_text(check_fixture_folder().parent_path().parent_path().parent_path() / "docs" / "checking.md");
    for (const auto& kind : metal::check::all_finding_kinds())
        EXPECT_NE(std::string::npos, page.find(fmt::format(": {}: ", kind.name))) << kind.name;
    const size_t begin = page.find("```", page.find("### What each finding looks like")) + 4,
                 end = page.find("\n```", begin);
    ASSERT_NE(std::string::npos, end);
    const std::string printed = file_text(check_fixture_folder() / "findings.txt");
    std::istringstream shown(page.substr(begin, end - begin));
    size_t num_lines = 0;
    for (std::string line; std::getline(shown, line); ++num_lines)
        EXPECT_NE(std::string::npos, printed.find(line + "\n")) << line;
    EXPECT_LT(100u, num_lines);
}

// A listener that wants everything in order, so that one worker runs the launch.
class InOrder final : public metal::check::Listener {};

TEST(CheckerReports, AreTheSameOnOneWorkerAndOnAll) {
    for (const CheckFixture& fixture : check_fixtures("bounds.metal")) {
        InOrder one;
        const auto in_order = run_fixture(fixture, {CheckerId::kBounds}, {&one}),
                   split = run_fixture(fixture, {CheckerId::kBounds});
        EXPECT_EQ(1u, in_order.report.workers);
        EXPECT_EQ(to_json(in_order.findings), to_json(split.findings)) << fixture.kernel();
    }
}

TEST(CheckerReports, AreTheSameInEveryRun) {
    for (const CheckFixture& fixture : check_fixtures("race.metal")) {
        const auto once = run_fixture(fixture, every_checker()),
                   again = run_fixture(fixture, every_checker());
        EXPECT_EQ(to_json(once.findings), to_json(again.findings)) << fixture.kernel();
    }
}

}  // namespace
}  // namespace ingot::tests
