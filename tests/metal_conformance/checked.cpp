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
    std::string_view kernel;  // how its name begins; behind a *, what it contains
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
    {"steel_gemm_splitk_nax_", FindingKind::kDifferentBarriers},
    {"steel_segmented_mm_nax_", FindingKind::kDifferentBarriers},
    {"*qmm_t_nax_", FindingKind::kDifferentBarriers},
    {"*gather_qmm_rhs_nax_", FindingKind::kDifferentBarriers},
    // MLX's apply_epilogue_safe looks at the columns of what it adds, not at the rows: those past the last
    // are read, for results that aren't stored.
    {"steel_gemm_fused_", FindingKind::kBufferBounds},
    // MLX reads the scales of rows past the last.
    {"mxfp4_qmv_quad_", FindingKind::kBufferBounds},
    {"mxfp8_qmv_quad_", FindingKind::kBufferBounds},
    {"nvfp4_qmv_quad_", FindingKind::kBufferBounds},
    // MLX, in Apple's machine-independent code: threads that start past the row's end write their array at
    // negative indices.
    {"layer_norm", FindingKind::kPrivateBounds},
    // MLX: the first 16 lanes sum up 16 simdgroups' sums among themselves.
    {"dot_product_", FindingKind::kDivergentSimdFunction},
    // The cases bind what some kernel of a family takes.
    {"", FindingKind::kUnusedBinding},
    // ggml: a simdgroup reads all of its rows, also those past the last, and stores what there is.
    {"kernel_mul_mv_", FindingKind::kBufferBounds},
    // MLX: its one simdgroup hands sums from lane to lane through threadgroup memory, without a barrier.
    {"gated_delta_fused_", FindingKind::kLockstep},
    // MLX: threads of rows past the last return before the barriers of the others.
    {"fft_mem_", FindingKind::kBarrierDivergence},
    // ggml reads four bytes of high bits, which lie at a multiple of 2, as one number.
    {"kernel_get_rows_q5_0", FindingKind::kMisaligned},
    {"kernel_mul_mm_q5_0_", FindingKind::kMisaligned},
    {"kernel_mul_mv_q5_0_", FindingKind::kMisaligned},
    {"kernel_flash_attn_ext_q5_0_", FindingKind::kMisaligned},
    {"kernel_flash_attn_ext_vec_q5_0_", FindingKind::kMisaligned},
    // ggml: what a simdgroup keeps in its part of threadgroup memory is written again while only lockstep
    // says that other lanes have read it.
    {"kernel_flash_attn_ext_", FindingKind::kLockstep},
    // ggml pads a head of 96 to 128: it reads what lies behind the last row of values, and results that
    // nobody cleared, and multiplies the two for columns that it doesn't store.
    {"kernel_flash_attn_ext_f16_dk96_", FindingKind::kBufferBounds},
    {"kernel_flash_attn_ext_f16_dk96_", FindingKind::kUninitialisedThreadgroup},
    // ggml clears more results of a head of 96 than there is memory for.
    {"kernel_flash_attn_ext_vec_f16_dk96_", FindingKind::kThreadgroupBounds},
    {"kernel_flash_attn_ext_vec_q4_0_dk96_", FindingKind::kThreadgroupBounds},
    {"kernel_flash_attn_ext_vec_q8_0_dk96_", FindingKind::kThreadgroupBounds},
    // ggml: all lanes read the row that the first one writes, and multiply it by 0.
    {"kernel_solve_tri_", FindingKind::kLockstep},
    // PyTorch: the first lanes sum up the simdgroups' sums among themselves.
    {"layer_norm_", FindingKind::kDivergentSimdFunction},
    {"softmax_partial_", FindingKind::kDivergentSimdFunction},
    {"softmax_finalize_", FindingKind::kDivergentSimdFunction},
    {"log_softmax_finalize_", FindingKind::kDivergentSimdFunction},
    {"sum_reduction_flat_", FindingKind::kDivergentSimdFunction},
    // PyTorch: threads of columns past the last return before the barriers of the others.
    {"*_reduction_outer_", FindingKind::kBarrierDivergence},
    // PyTorch reads the sums of 32 simdgroups where there are fewer, and uses none of those.
    {"cumsum_innermost_", FindingKind::kUninitialisedThreadgroup},
    // PyTorch: lanes of one simdgroup hand sums over through threadgroup memory, without a barrier.
    {"int8pack_mv_", FindingKind::kLockstep},
    // ggml: the first simdgroup clears the maxima for the sums while others may still read them.
    {"kernel_soft_max_", FindingKind::kThreadgroupRace},
};

bool is_known_defect(const check::Finding& finding) {
    return std::ranges::any_of(kDefects, [&](const KnownDefect& known) {
        const bool anywhere = known.kernel.starts_with('*');
        return finding.kind == known.kind &&
               (anywhere ? finding.kernel.find(known.kernel.substr(1)) != std::string::npos
                         : finding.kernel.starts_with(known.kernel));
    });
}

CountedRuns* counted_runs = nullptr;

}  // namespace

CountedRuns::CountedRuns() {
    counted_runs = this;
}

CountedRuns::~CountedRuns() {
    counted_runs = nullptr;
}

CompileOptions options_of_runs() {
    CompileOptions options;
    options.instrument = counted_runs != nullptr || !checkers_of_runs().empty();
    if (counted_runs != nullptr) options.executor = ExecutorKind::kFibers;
    return options;
}

Result<LaunchReport> run_or_check(Executor& executor, const Kernel& kernel, const Launch& launch) {
    if (counted_runs != nullptr) {
        INGOT_ASSIGN(count::Counts counts, count::run_counted(executor, kernel, launch));
        counted_runs->launches_.push_back(std::move(counts));
        return LaunchReport{};
    }
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
