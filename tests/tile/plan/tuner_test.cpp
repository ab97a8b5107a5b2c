// Tuning on a device that a test makes up: what is tried, in what order, what is kept of it, and which plan
// later compiles get.
#include "tile/tuner/tuner.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "tile/peer_programs.h"
#include "tile/plan/plan_text.h"

namespace ingot::tile::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTunedProgram = R"(kernel tuned {
  dim n
  in A: f32[64, n]
  in B: f32[n, 64]
  out C: f32[64, 64]
  threads 128
  shared As: f32[64, 32]
  shared Bs: f32[32, 64]
  shared Cs: f32[64, 64]
  fill Cs = 0.0
  for step < ceildiv(n, 32) {
    copy As = A[:, step * 32 : 32]
    copy Bs = B[step * 32 : 32, :]
    gemm Cs += As @ Bs
  }
  copy C = Cs
}
)";

// A device whose times a test says: by the number of threads and the measurement's number.
class MadeUpDevice final : public TuningDevice {
  public:
    std::function<double(const CompiledKernel&, int)> time = [](const CompiledKernel& c, int) {
        return double(c.threads);
    };
    std::function<Result<TuningOutputs>(const CompiledKernel&)> outputs = [](const CompiledKernel&) {
        return Result<TuningOutputs>(TuningOutputs{{"C", {1, 2, 3}}});
    };
    std::vector<std::string> events;  // "run THREADS", "measure THREADS"
    double clock = 0;
    int measured = 0;

    std::string name() const override { return "made up"; }
    std::string compiler() const override { return "none"; }
    std::string ranking() const override { return "seconds that a test says"; }
    Result<std::unique_ptr<TuningLaunch>> prepare(const CompiledKernel& c) override {
        if (c.threads == 96) return fail(ErrorKind::kUnsupported, "no 96 threads here");
        return std::make_unique<Launch>(*this, c);
    }

  private:
    class Launch final : public TuningLaunch {
      public:
        Launch(MadeUpDevice& d, CompiledKernel c) : device_(d), compiled_(std::move(c)) {}
        Result<TuningOutputs> run() override {
            device_.clock += 1;
            device_.events.push_back(fmt::format("run {}", compiled_.threads));
            return device_.outputs(compiled_);
        }
        Result<double> measure() override {
            device_.clock += 1;
            device_.events.push_back(fmt::format("measure {}", compiled_.threads));
            return device_.time(compiled_, device_.measured++);
        }

      private:
        MadeUpDevice& device_;
        const CompiledKernel compiled_;
    };
};

class Tuner : public ::testing::Test {
  protected:
    Tuner() : path_(std::filesystem::temp_directory_path() / fmt::format("ingot_tuner_{}.db", ::getpid())) {
        std::filesystem::remove(path_);
        request_.compile.dims = {{"n", 96}};
        request_.expected = {{"C", {1, 2, 3}}};
        request_.validated_by = "a test";
        request_.tolerance = 1e-6;
        request_.budget_seconds = 1e9;
        request_.shortlist = 1000;  // all that is legal
        request_.seconds = [this] { return device_.clock; };
        request_.say = [](const std::string&) {};
    }
    ~Tuner() override { std::filesystem::remove(path_); }

    Result<TuningReport> tuned() {
        INGOT_ASSIGN(database_, TuningDatabase::open(path_.string(), true));
        return tune(kernel_, device_, request_, *database_);
    }
    TuningReport good() {
        const auto report = tuned();
        EXPECT_TRUE(report) << report.error().describe();
        return report.value_or(TuningReport{});
    }

    const Kernel kernel_ = kernel_of(kTunedProgram, "tuned");
    std::filesystem::path path_;
    MadeUpDevice device_;
    TuningRequest request_;
    std::unique_ptr<TuningDatabase> database_;
};

TEST_F(Tuner, TakesTheFastestThatTheReplayConfirmsAndCompilesGetItsPlan) {
    const TuningReport r = good();
    EXPECT_GT(r.measured, 8u);
    EXPECT_GT(r.refused, 0u);
    EXPECT_THAT(r.plan.what, HasSubstr("32 threads"));
    EXPECT_EQ(r.plan.replay_median, 32);
    EXPECT_EQ(r.plan.planner_median, 128);
    const auto planner = tuned_planner(path_.string(), kernel_, request_.compile);
    ASSERT_TRUE(planner) << planner.error().describe();
    CompileOptions options = request_.compile;
    options.planner = *planner;
    const auto compiled = compile(kernel_, options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    EXPECT_EQ(compiled->threads, 32u);
    EXPECT_TRUE(compiled->group_plan.applied);
}

TEST_F(Tuner, NeverTakesTheSearchesLeastValueForAResult) {
    // One measurement of the search is a fluke; the replay sees what is usual.
    int flukes = 0;
    device_.time = [&](const CompiledKernel& c, int) {
        return c.threads == 64 && flukes++ == 0 ? 1.0 : double(100 + c.threads);
    };
    request_.measurements = 1;
    const TuningReport r = good();
    EXPECT_EQ(r.search_least, 1);
    EXPECT_THAT(r.searched, HasSubstr("64 threads"));
    EXPECT_EQ(r.plan.replay_median, 164);
    EXPECT_EQ(r.plan.planner_median, 228);
}

TEST_F(Tuner, ReplaysInEachOrderEquallyOften) {
    request_.replays = 2;
    good();
    // The last measurements, three contenders at a time: after the last output was checked.
    const auto last_run = std::ranges::find_if(device_.events.rbegin(), device_.events.rend(),
                                               [](const std::string& e) { return e.starts_with("run"); });
    std::vector<std::string> replay(last_run.base() + request_.measurements, device_.events.end());
    ASSERT_EQ(replay.size() % 3, 0u);
    std::map<std::vector<std::string>, int> orders;
    for (size_t i = 0; i < replay.size(); i += 3)
        ++orders[{replay.begin() + long(i), replay.begin() + long(i) + 3}];
    std::map<std::pair<size_t, std::string>, int> places;
    for (const auto& [order, times] : orders)
        for (size_t p = 0; p < 3; ++p) places[{p, order[p]}] += times;
    for (const auto& [place, times] : places) EXPECT_EQ(times % 4, 0) << place.second;
}

TEST_F(Tuner, MeasuresNothingWhoseOutputsItHasntChecked) {
    device_.outputs = [](const CompiledKernel& c) {
        return Result<TuningOutputs>(TuningOutputs{{"C", {1, 2, c.threads == 32 ? 3.5 : 3.0}}});
    };
    const TuningReport r = good();
    EXPECT_GT(r.wrong, 0u);
    EXPECT_THAT(r.plan.what, Not(HasSubstr("32 threads; ")));
    for (const std::string& e : device_.events) EXPECT_NE(e, "measure 32");
    std::set<std::string> ran;
    for (const std::string& e : device_.events) {
        if (e.starts_with("run ")) ran.insert(e.substr(4));
        if (e.starts_with("measure ")) {
            EXPECT_TRUE(ran.contains(e.substr(8))) << e;
        }
    }
}

TEST_F(Tuner, StopsSearchingWhenItsPartOfTheBudgetIsGone) {
    request_.budget_seconds = 40;
    const TuningReport r = good();
    EXPECT_GT(r.left, 0u);
    EXPECT_LT(r.measured, 12u);
    EXPECT_GE(r.measured, 2u);
    EXPECT_FALSE(r.plan.plan.empty());
}

TEST_F(Tuner, FailsWhereThePlannersOwnChoiceIsWrong) {
    device_.outputs = [](const CompiledKernel&) {
        return Result<TuningOutputs>(TuningOutputs{{"C", {1, 2, NAN}}});
    };
    const auto r = tuned();
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message, HasSubstr("the planner's choice"));
    EXPECT_THAT(r.error().message, HasSubstr("C is off by inf; 1e-06 is accepted"));
}

TEST_F(Tuner, AKeyWithoutAPlanSaysWhichOfItsPartsIsNew) {
    good();
    CompileOptions other = request_.compile;
    other.dims["n"] = 64;
    const auto planner = tuned_planner(path_.string(), kernel_, other);
    ASSERT_FALSE(planner);
    EXPECT_EQ(planner.error().kind, ErrorKind::kNotFound);
    EXPECT_THAT(
        planner.error().message,
        HasSubstr(
            "no plan of tuned for shapes 'A[64, 64] B[64, 64] C[64, 64]'; `ingot tile tune` makes one"));
    other = request_.compile;
    other.target = "metal-m5";
    EXPECT_THAT(tuned_planner(path_.string(), kernel_, other).error().message,
                HasSubstr("for target 'metal-m5'"));
    other = request_.compile;
    other.path = Path::kScalar;
    EXPECT_THAT(tuned_planner(path_.string(), kernel_, other).error().message,
                HasSubstr("for options 'path scalar'"));
    other = request_.compile;
    other.dims.clear();
    EXPECT_THAT(tuned_planner(path_.string(), kernel_, other).error().message,
                HasSubstr("dim n has no value"));
}

TEST_F(Tuner, AFileThatIsNoTuningDatabaseIsRefused) {
    std::ofstream(path_) << "no database at all, but long enough to look at: " << std::string(4096, 'x');
    const auto opened = TuningDatabase::open(path_.string(), true);
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().describe(), HasSubstr("file is not a database"));
    EXPECT_FALSE(TuningDatabase::open("/no/such/folder/x.db", true));
    EXPECT_FALSE(TuningDatabase::open((path_.string() + ".missing"), false));
}

TEST(PlanText, ReadsBackWhatItWrites) {
    const Kernel k = kernel_of(kTunedProgram, "tuned");
    CompileOptions options;
    options.dims = {{"n", 64}};
    const auto list = shortlist(k, options, 1000);
    ASSERT_TRUE(list) << list.error().describe();
    ASSERT_GT(list->tried.size(), 50u);
    for (const PlanCandidate& c : list->tried) {
        const std::string text = to_plan_text(c.planner);
        const auto read = parse_plan_text(text);
        ASSERT_TRUE(read) << text << read.error().describe();
        EXPECT_EQ(to_plan_text(*read), text);
    }
}

TEST(PlanText, RefusesWhatIsNoPlan) {
    const std::string good = to_plan_text({});
    EXPECT_TRUE(parse_plan_text(good));
    for (const std::string_view part :
         {"\"plan\":1", "\"planner\":true", "\"copy_batch\":1", "\"residency\":true", "\"products\":[]"}) {
        std::string bad = good;
        const size_t at = bad.find(part);
        ASSERT_NE(at, std::string::npos) << part;
        bad.replace(at, part.size(), "\"x\":{}");
        const auto read = parse_plan_text(bad);
        ASSERT_FALSE(read) << bad;
        EXPECT_THAT(read.error().message, HasSubstr(std::string(part.substr(1, part.find('"', 1) - 1))));
    }
    for (const char* bad : {"", "[]", "{", "3", "{\"plan\":2}"}) EXPECT_FALSE(parse_plan_text(bad)) << bad;
}

// By the work model alone, cheapest first; scores of two bases are never compared.
TEST(Shortlists, ComeInTheOrderOfTheirScoresWithinEachBasis) {
    const Kernel k = kernel_of(kTunedProgram, "tuned");
    for (const std::string_view target : {"metal-m4", "metal-m5"}) {
        CompileOptions options;
        options.target = target;
        options.dims = {{"n", 64}};
        const auto list = shortlist(k, options, 10);
        ASSERT_TRUE(list) << list.error().describe();
        EXPECT_THAT(list->tried.front().what, HasSubstr("the planner's choice"));
        EXPECT_GT(list->refused.size(), 5u);
        std::map<std::string, double> last;
        const auto expect_rising = [&](const PlanCandidate& c) {
            EXPECT_GE(c.score, last[c.basis]) << c.what;
            last[c.basis] = c.score;
        };
        for (size_t i = 1; i <= 10; ++i) expect_rising(list->tried[i]);
        for (const PlanCandidate& c : list->left) expect_rising(c);
    }
}

}  // namespace
}  // namespace ingot::tile::testing
