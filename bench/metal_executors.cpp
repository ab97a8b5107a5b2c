// The two executors of the virtual Metal device side by side: MLX's kernels as Apple's compiler built them,
// one core, fibers and vectors in turn so that a busy neighbour disturbs both, and the same loops by the
// host's compiler (native/loops.h) where there are any. Prints the fastest round's CPU time, which a shared
// machine disturbs least, and what the vector form took to compile (0: it was on disk). The last column is
// the speed of two workers over one, by elapsed time: of use on a machine with two idle cores. Library as
// bench/metal.cpp has it; an argument picks kernels.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/half.h"
#include "metal/air/library_file.h"
#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"
#include "metal/exec/tiers.h"
#include "native/loops.h"

namespace ingot::metal {
namespace {

// A launch and the memory it works on.
struct Work {
    Launch launch;
    std::deque<std::vector<std::byte>> memory;

    Work() { launch.max_workers = 1; }
    std::byte* bytes(uint32_t slot, size_t size) {
        auto& block = memory.emplace_back(size);
        launch.buffers[slot] = {block.data(), size};
        return block.data();
    }
    float* at(uint32_t slot) const { return static_cast<float*>(launch.buffers[slot].address); }
    Work& floats(uint32_t slot, size_t count) {
        auto* data = reinterpret_cast<float*>(bytes(slot, 4 * count));
        for (size_t i = 0; i < count; ++i) data[i] = float(int(i * 37 % 101) - 50) / 64;
        return *this;
    }
    Work& halves(uint32_t slot, size_t count) {
        auto* data = reinterpret_cast<uint16_t*>(bytes(slot, 2 * count));
        for (size_t i = 0; i < count; ++i) data[i] = float_to_half(float(int(i * 37 % 17) - 8) / 8);
        return *this;
    }
    template <typename T>
    Work& value(uint32_t slot, const T& value) {
        std::memcpy(bytes(slot, sizeof(T)), &value, sizeof(T));
        return *this;
    }
    Work& groups(Size3 groups, Size3 threads) {
        launch.group_threads = threads;
        launch.grid_threads = {groups.x * threads.x, groups.y * threads.y, groups.z * threads.z};
        return *this;
    }
};

// GEMMParams of MLX's steel kernels.
struct GemmParams {
    int m, n, k, lda, ldb, ldd, tiles_n, tiles_m;
    int64_t batch_a, batch_b, batch_d;
    int swizzle_log, k_iterations, batch_ndim;
};

void gemm(Work& work, int size, int tile_k) {
    const size_t count = size_t(size) * size_t(size);
    work.halves(0, count).halves(1, count).halves(3, count);
    work.value(4, GemmParams{size, size, size, size, size, size, size / 64, size / 64, 0, 0, 0, 0,
                             size / tile_k, 0});
    work.groups({uint32_t(size) / 64, uint32_t(size) / 64, 1}, {32, 2, 2});
}

void gemv(Work& work, uint32_t rows_a_group, Size3 threads) {
    constexpr int kRows = 1024, kColumns = 4096;
    work.floats(0, size_t{kRows} * kColumns).floats(1, kColumns).floats(3, kRows);
    work.value(4, kColumns).value(5, kRows).value(6, kColumns).value(7, 1.0f).value(8, 0.0f);
    work.value(9, 0).value(10, 1).value(14, 1);
    for (uint32_t slot = 11; slot < 14; ++slot) work.value(slot, int64_t{0});
    work.groups({kRows / rows_a_group, 1, 1}, threads);
}

// AttnParams of MLX's steel kernels.
struct AttentionParams {
    int batches, heads, d, queries, keys, group;
    float scale;
    int blocks_q, blocks_k, whole_q, whole_k, rest_q, rest_k, offset;
    int64_t q_strides[3], k_strides[3], v_strides[3], o_strides[3];
};

// 8 heads of 64, 512 queries and keys, blocks of 32.
void attention(Work& work) {
    constexpr int kHeads = 8, kRows = 512, kSize = 64, kBlocks = kRows / 32;
    constexpr int64_t kPlane = int64_t{kRows} * kSize, kAll = kHeads * kPlane;
    for (uint32_t slot = 0; slot < 4; ++slot) work.halves(slot, kAll);
    work.value(4, AttentionParams{1,
                                  kHeads,
                                  kSize,
                                  kRows,
                                  kRows,
                                  1,
                                  0.125f,
                                  kBlocks,
                                  kBlocks,
                                  kBlocks,
                                  kBlocks,
                                  0,
                                  0,
                                  0,
                                  {kAll, kPlane, kSize},
                                  {kAll, kPlane, kSize},
                                  {kAll, kPlane, kSize},
                                  {kAll, kPlane, kSize}});
    work.groups({kBlocks, kHeads, 1}, {32, 4, 1});
}

struct Row {
    const char* label;
    const char* kernel;
    std::map<uint32_t, ConstantValue> constants;
    double gflop;  // 0: not counted
    std::function<void(Work&)> prepare;
    std::function<void(const Work&)> native = {};
};

const std::map<uint32_t, ConstantValue> kWholeGemm{{10, false}, {100, false}, {110, false},
                                                   {200, true}, {201, true},  {202, true}};

constexpr uint32_t kMillion = 1 << 20;

std::vector<Row> rows() {
    return {
        {"exp 1M",
         "v_Expfloat32float32",
         {},
         0,
         [](Work& w) {
             w.floats(0, kMillion)
                 .floats(1, kMillion)
                 .value(2, kMillion)
                 .groups({kMillion / 256, 1, 1}, {256, 1, 1});
         },
         [](const Work& w) { bench::native_exp(w.at(0), w.at(1), kMillion); }},
        {"rms 256 x 4096",
         "rmsfloat32",
         {{20, true}},
         0,
         [](Work& w) {
             w.floats(0, 256 * 4096).floats(1, 4096).floats(2, 256 * 4096).value(3, 1e-5f).value(4, 4096u);
             w.value(5, 1u).groups({256, 1, 1}, {1024, 1, 1});
         },
         [](const Work& w) { bench::native_rms(w.at(0), w.at(1), w.at(2), 256, 4096, 1e-5f); }},
        {"softmax 256 x 4096",
         "block_softmax_float32",
         {},
         0,
         [](Work& w) {
             w.floats(0, 256 * 4096).floats(1, 256 * 4096).value(2, 4096).groups({256, 1, 1}, {1024, 1, 1});
         },
         [](const Work& w) { bench::native_softmax(w.at(0), w.at(1), 256, 4096); }},
        {"row sum 256 x 8192",
         "row_reduce_simple_sumfloat32",
         {},
         0,
         [](Work& w) {
             w.floats(0, 256 * 8192).floats(1, 256).value(2, uint64_t{8192}).value(3, int64_t{256});
             w.groups({1, 64, 1}, {256, 1, 1});
         },
         [](const Work& w) { bench::native_row_sum(w.at(0), w.at(1), 256, 8192); }},
        {"gemv 1024 x 4096",
         "gemv_float32_bm4_bn1_sm1_sn32_tm4_tn4_nc0_axpby0",
         {},
         2e-9 * 1024 * 4096,
         [](Work& w) { gemv(w, 16, {32, 1, 4}); },
         [](const Work& w) { bench::native_gemv(w.at(0), w.at(1), w.at(3), 1024, 4096); }},
        {"qmv 4 bit 4096 x 1024",
         "affine_qmv_fast_float16_t_gs_64_b_4_batch_0_pr_0_hgs_0_r_4",
         {},
         0,
         [](Work& w) {
             constexpr int kColumns = 4096;
             constexpr uint32_t kRows = 1024;
             w.floats(0, kRows * kColumns / 8)
                 .halves(1, kRows * kColumns / 64)
                 .halves(2, kRows * kColumns / 64);
             w.halves(3, kColumns)
                 .halves(4, kRows)
                 .value(5, kColumns)
                 .value(6, int(kRows))
                 .value(7, 0)
                 .value(10, 0);
             w.groups({1, kRows / 8, 1}, {32, 2, 1});
         }},
        {"steel GEMM half 512", "steel_gemm_fused_nn_float16_float16_bm64_bn64_bk16_wm2_wn2", kWholeGemm,
         2e-9 * 512 * 512 * 512, [](Work& w) { gemm(w, 512, 16); }},
        {"steel GEMM half 1024", "steel_gemm_fused_nn_float16_float16_bm64_bn64_bk16_wm2_wn2", kWholeGemm,
         2e-9 * 1024 * 1024 * 1024, [](Work& w) { gemm(w, 1024, 16); }},
        {"NAX GEMM half 512", "steel_gemm_fused_nax_nn_float16_float16_bm64_bn64_bk256_wm2_wn2", kWholeGemm,
         2e-9 * 512 * 512 * 512, [](Work& w) { gemm(w, 512, 256); }},
        {"steel attention 8 x 512",
         "steel_attention_float16_bq32_bk32_bd64_bv64_wm4_wn1_maskfloat16",
         {{200, true}, {201, true}, {300, false}, {301, false}, {302, false}, {303, false}},
         4e-9 * 8 * 512 * 512 * 64,
         attention},
    };
}

double thread_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Of vectors: the fastest of some rounds with one worker over that with two, in turn.
Result<double> speedup_of_two(Executor& executor, const Kernel& kernel, Launch launch) {
    constexpr int kRounds = 15;
    launch.executor = ExecutorKind::kVector;
    double one = 1e9, two = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        for (const unsigned workers : {1U, 2U}) {
            launch.max_workers = workers;
            INGOT_ASSIGN(const LaunchReport report, executor.run(kernel, launch));
            double& fastest = workers == 1 ? one : two;
            fastest = std::min(fastest, report.seconds);
        }
    }
    return one / two;
}

Result<void> measure(const LibraryFile& library, const Row& row) {
    constexpr int kRounds = 15;
    INGOT_ASSIGN(Compiler * compiler, compiler());
    const LibraryFunction* function = library.find(row.kernel);
    if (function == nullptr) return fail(ErrorKind::kInvalidArgument, "no kernel {}", row.kernel);
    CompileOptions options;
    options.constants.by_index = row.constants;
    INGOT_ASSIGN(const auto kernel, compiler->compile(function->bitcode, row.kernel, options));
    Work work;
    row.prepare(work);
    const auto executor = make_fiber_executor();
    const double begin = thread_seconds();
    INGOT_TRY(kernel->lanes->entry(variant_of(work.launch)));
    const double compile_seconds = thread_seconds() - begin;
    double fibers = 1e9, vector = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        for (const ExecutorKind kind : {ExecutorKind::kVector, ExecutorKind::kFibers}) {
            work.launch.executor = kind;
            const double start = thread_seconds();
            INGOT_ASSIGN(const LaunchReport report, executor->run(*kernel, work.launch));
            const double elapsed = thread_seconds() - start;
            if (report.status != LaunchStatus::kDone || report.executor != kind) {
                return fail(ErrorKind::kUnsupported, "{}: {}{}", row.label, report.message, report.refusal);
            }
            double& fastest = kind == ExecutorKind::kVector ? vector : fibers;
            fastest = std::min(fastest, elapsed);
        }
    }
    double native = 1e9;
    for (int round = 0; round < kRounds && row.native; ++round) {
        const double start = thread_seconds();
        row.native(work);
        native = std::min(native, thread_seconds() - start);
    }
    INGOT_ASSIGN(const double speedup, speedup_of_two(*executor, *kernel, work.launch));
    const std::string rate = row.gflop == 0 ? "" : fmt::format("{:8.1f}", row.gflop / vector);
    const std::string of_native = row.native ? fmt::format("{:8.2f}", native / vector) : "";
    fmt::print("| {:<24} | {:9.3f} | {:9.3f} | {:6.1f} | {:8} | {:8} | {:7.0f} | {:7.2f} |\n", row.label,
               1e3 * fibers, 1e3 * vector, fibers / vector, rate, of_native, 1e3 * compile_seconds, speedup);
    std::fflush(stdout);
    return {};
}

Result<void> measure_all(std::string_view wanted) {
    const char* path = std::getenv("INGOT_MLX_METALLIB");
    const char* home = std::getenv("HOME");
    INGOT_ASSIGN(
        const LibraryFile library,
        LibraryFile::open(
            path ? path : std::string(home ? home : "") + "/.cache/ingot/metal/mlx-26.0/mlx.metallib"));
    fmt::print(
        "| one core, CPU time       | fibers ms | vector ms |  ratio | GFLOP/s  | of native |  JIT ms | 2 "
        "cores |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const Row& row : rows()) {
        if (std::string_view(row.label).find(wanted) == std::string_view::npos) continue;
        INGOT_TRY(measure(library, row));
    }
    return {};
}

}  // namespace
}  // namespace ingot::metal

int main(int argc, char** argv) {
    const auto done = ingot::metal::measure_all(argc > 1 ? argv[1] : "");
    if (!done) std::fprintf(stderr, "%s\n", done.error().describe().c_str());
    return done ? 0 : 1;
}
