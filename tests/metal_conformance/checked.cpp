#include "metal_conformance/checked.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "metal/check/report.h"
#include "metal/check/session.h"

namespace ingot::metal::conformance {
namespace {

using check::FindingKind;

std::string checkers_of_runs() {
    const char* chosen = std::getenv("INGOT_CHECK_RUNS");
    return chosen == nullptr ? "" : chosen;
}

// What these kernels do wrong: each a defect that was looked into.
struct KnownDefect {
    std::string_view kernel;  // how its name begins
    FindingKind kind;
};
constexpr KnownDefect kDefects[] = {
    // MLX: a barrier inside of `if (thrN == 0)`, with mem_none: the first lanes of the simdgroups hand sums
    // over without any order.
    {"gemv_", FindingKind::kBarrierDivergence},
    {"gemv_", FindingKind::kThreadgroupRace},
    // MLX reads the sums of 32 simdgroups where there are fewer, and uses none of those.
    {"contig_scan_", FindingKind::kUninitialisedThreadgroup},
    // MLX: simdgroups at the edge take another copy of the loop than those inside, each with barriers of its
    // own.
    {"steel_gemm_fused_nax_", FindingKind::kDifferentBarriers},
    {"affine_qmm_t_nax_", FindingKind::kDifferentBarriers},
    {"affine_gather_qmm_t_nax_", FindingKind::kDifferentBarriers},
    // MLX reads the scales of rows past the last.
    {"mxfp4_qmv_quad_", FindingKind::kBufferBounds},
    // MLX, in Apple's machine-independent code: threads that start past the row's end write their array at
    // negative
    // indices.
    {"layer_norm", FindingKind::kPrivateBounds},
    // MLX: the first 16 lanes sum up 16 simdgroups' sums among themselves.
    {"dot_product_", FindingKind::kDivergentSimdFunction},
    // The cases bind what some kernel of a family takes.
    {"", FindingKind::kUnusedBinding},
    // ggml: a simdgroup reads all of its rows, also those past the last, and stores what there is.
    {"kernel_mul_mv_", FindingKind::kBufferBounds},
    // ggml reads four bytes of high bits, which lie at a multiple of 2, as one number.
    {"kernel_get_rows_q5_0", FindingKind::kMisaligned},
    // ggml: the first simdgroup clears the maxima for the sums while others may still read them.
    {"kernel_soft_max_", FindingKind::kThreadgroupRace},
};

bool is_known_defect(const check::Finding& finding) {
    return std::ranges::any_of(kDefects, [&](const KnownDefect& known) {
        return finding.kind == known.kind && finding.kernel.starts_with(known.kernel);
    });
}

}  // namespace

CompileOptions options_of_runs() {
    CompileOptions options;
    options.instrument = !checkers_of_runs().empty();
    return options;
}

Result<LaunchReport> run_or_check(Executor& executor, const Kernel& kernel, const Launch& launch) {
    if (kernel.instrumentation.empty()) return executor.run(kernel, launch);
    check::Request request;
    INGOT_ASSIGN(request.checkers, check::parse_checkers(checkers_of_runs()));
    INGOT_ASSIGN(check::Outcome outcome, check::run_checked(executor, kernel, launch, request));
    std::erase_if(outcome.findings, is_known_defect);
    // What the executor saw of a barrier, a checker told better.
    outcome.report.findings.clear();
    EXPECT_TRUE(outcome.findings.empty()) << check::to_text(outcome.findings, check::lines_of_files());
    return std::move(outcome.report);
}

}  // namespace ingot::metal::conformance
