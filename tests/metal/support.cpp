#include "metal/support.h"

#include <cstdlib>
#include <map>

#include "metal/check/report.h"
#include "metal/check/session.h"

namespace ingot::metal::testing {
namespace {

// Tests are of the compiler, not of what an earlier run left on disk.
[[maybe_unused]] const int kCacheIsOff = ::setenv("INGOT_METAL_CACHE", "off", 0);
// A test's results don't depend on when a kernel's vector form was ready.
[[maybe_unused]] const int kExecutorIsFixed = ::setenv("INGOT_EXECUTOR", "fibers", 0);

}  // namespace

const LibraryFile& mlx_library(const std::string& system) {
    static std::map<std::string, Result<LibraryFile>> opened;
    auto found = opened.find(system);
    if (found == opened.end()) {
        const char* cache = std::getenv("XDG_CACHE_HOME");
        const char* home = std::getenv("HOME");
        const std::string base = cache && *cache ? cache : std::string(home ? home : "") + "/.cache";
        const std::string path = base + "/ingot/metal/mlx-" + system + "/mlx.metallib";
        found = opened.emplace(system, LibraryFile::open(path)).first;
    }
    if (!found->second) {
        ADD_FAILURE() << found->second.error().describe() << " (run: python3 tools/fetch.py mlx-metal)";
        static const LibraryFile empty;
        return empty;
    }
    return *found->second;
}

Compiler& the_compiler() {
    const auto loaded = compiler();
    if (!loaded) {
        ADD_FAILURE() << loaded.error().describe();
        std::abort();
    }
    return **loaded;
}

Executor& the_executor() {
    static const std::unique_ptr<Executor> executor = make_fiber_executor();
    return *executor;
}

namespace {

// Checkers that INGOT_CHECK_RUNS asks for: kernels of MLX then run watched, and what is found fails their
// test.
std::string checkers_of_runs() {
    const char* chosen = std::getenv("INGOT_CHECK_RUNS");
    return chosen == nullptr ? "" : chosen;
}

// What MLX 0.32.4's kernels do wrong, as Apple's compiler built them.
struct KnownDefect {
    std::string_view kernel;  // how its name begins
    check::FindingKind kind;
};
constexpr KnownDefect kKnownDefects[] = {
    // A barrier inside of `if (thrN == 0)`, with mem_none: the first lanes of the simdgroups hand sums over
    // without any order.
    {"gemv_", check::FindingKind::kBarrierDivergence},
    {"gemv_", check::FindingKind::kThreadgroupRace},
    // Reads the sums of 32 simdgroups where there are fewer, and uses none of those.
    {"contig_scan_", check::FindingKind::kUninitialisedThreadgroup},
    // Simdgroups at the edge take another copy of the loop than those inside, each with barriers of its own.
    {"steel_gemm_fused_nax_", check::FindingKind::kDifferentBarriers},
    {"affine_qmm_t_nax_", check::FindingKind::kDifferentBarriers},
    // Its one simdgroup hands sums from lane to lane through threadgroup memory, without a barrier of any
    // kind.
    {"gated_delta_fused_", check::FindingKind::kLockstep},
    // The test binds what either kernel of the rule takes.
    {"gated_delta_fused_chunk_", check::FindingKind::kUnusedBinding},
};

bool is_known(const check::Finding& finding) {
    return std::ranges::any_of(kKnownDefects, [&](const KnownDefect& known) {
        return finding.kind == known.kind && finding.kernel.starts_with(known.kernel);
    });
}

Result<LaunchReport> run_or_check(const Kernel& kernel, const Launch& launch) {
    if (kernel.instrumentation.empty()) return the_executor().run(kernel, launch);
    check::Request request;
    INGOT_ASSIGN(request.checkers, check::parse_checkers(checkers_of_runs()));
    INGOT_ASSIGN(check::Outcome outcome, check::run_checked(the_executor(), kernel, launch, request));
    std::erase_if(outcome.findings, is_known);
    EXPECT_TRUE(outcome.findings.empty()) << check::to_text(outcome.findings, check::lines_of_files());
    return std::move(outcome.report);
}

}  // namespace

std::shared_ptr<const Kernel> mlx_kernel(const std::string& name,
                                         const std::map<uint32_t, ConstantValue>& constants,
                                         CompileOptions options) {
    const LibraryFile& library = mlx_library();
    const LibraryFunction* function = library.find(name);
    if (function == nullptr) {
        ADD_FAILURE() << "no kernel " << name;
        return nullptr;
    }
    options.constants.by_index = constants;
    options.instrument = !checkers_of_runs().empty();
    auto kernel = the_compiler().compile(function->bitcode, name, options);
    if (!kernel) {
        ADD_FAILURE() << name << ": " << kernel.error().describe();
        return nullptr;
    }
    return *kernel;
}

std::shared_ptr<const Kernel> text_kernel(const std::string& ir, CompileOptions options) {
    auto kernel = the_compiler().compile(std::as_bytes(std::span(ir)), "test", options);
    if (!kernel) {
        ADD_FAILURE() << kernel.error().describe() << "\n" << ir;
        return nullptr;
    }
    return *kernel;
}

LaunchReport Dispatch::threads_of_grid(Size3 grid, Size3 threads) {
    launch_.grid_threads = grid;
    launch_.group_threads = threads;
    if (kernel_ == nullptr) {
        return {.status = LaunchStatus::kFault, .message = "no kernel", .findings = {}, .refusal = {}};
    }
    auto report = run_or_check(*kernel_, launch_);
    if (!report) {
        ADD_FAILURE() << report.error().describe();
        return {.status = LaunchStatus::kFault,
                .message = report.error().describe(),
                .findings = {},
                .refusal = {}};
    }
    // Every test says who ran its kernels; one that asks for vectors doesn't get fibers unnoticed.
    ::testing::Test::RecordProperty("executor", std::string(to_string(report->executor)));
    if (launch_.executor == ExecutorKind::kVector) {
        EXPECT_EQ(ExecutorKind::kVector, report->executor) << report->refusal;
    }
    return *report;
}

}  // namespace ingot::metal::testing
