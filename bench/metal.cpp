// The virtual Metal device: MLX's matrix kernels as Apple's compiler built them, a row kernel, an empty
// dispatch. Columns: GFLOP/s of elapsed time, and GFLOP/s a core of CPU time, which a busy neighbour disturbs
// less. Library: `tools/fetch.py mlx-metal`, or the path in INGOT_MLX_METALLIB.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/half.h"
#include "base/thread_pool.h"
#include "metal/air/library_file.h"
#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"

namespace ingot::metal {
namespace {

constexpr const char* kSteel = "steel_gemm_fused_nn_float16_float16_bm64_bn64_bk16_wm2_wn2";
constexpr const char* kNax = "steel_gemm_fused_nax_nn_float16_float16_bm64_bn64_bk256_wm2_wn2";

// An empty kernel that takes nothing, in AIR as text.
constexpr std::string_view kEmptyKernel = R"(
define void @test() { ret void }
!air.kernel = !{!0}
!0 = !{ptr @test, !1, !1}
!1 = !{}
)";

const LibraryFile* mlx_library(std::string& error) {
    static const Result<LibraryFile> library = [] {
        if (const char* path = std::getenv("INGOT_MLX_METALLIB")) return LibraryFile::open(path);
        const char* home = std::getenv("HOME");
        return LibraryFile::open(std::string(home ? home : "") + "/.cache/ingot/metal/mlx-26.0/mlx.metallib");
    }();
    if (library) return &*library;
    error = library.error().describe();
    return nullptr;
}

std::shared_ptr<const Kernel> compile(benchmark::State& state, std::span<const std::byte> module,
                                      std::string_view name, const CompileOptions& options) {
    const auto loaded = compiler();
    if (!loaded) {
        state.SkipWithError(loaded.error().describe().c_str());
        return nullptr;
    }
    auto kernel = (*loaded)->compile(module, name, options);
    if (!kernel) {
        state.SkipWithError(kernel.error().describe().c_str());
        return nullptr;
    }
    return *kernel;
}

std::shared_ptr<const Kernel> mlx_kernel(benchmark::State& state, const std::string& name,
                                         const std::map<uint32_t, ConstantValue>& constants) {
    std::string error;
    const LibraryFile* library = mlx_library(error);
    const LibraryFunction* function = library != nullptr ? library->find(name) : nullptr;
    if (function == nullptr) {
        state.SkipWithError(library != nullptr ? ("no kernel " + name).c_str() : error.c_str());
        return nullptr;
    }
    CompileOptions options;
    options.constants.by_index = constants;
    return compile(state, function->bitcode, name, options);
}

double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// Launches until the benchmark has enough; CPU time goes to `cpu`.
bool launch_repeatedly(benchmark::State& state, const Kernel& kernel, const Launch& launch, double& cpu) {
    static const std::unique_ptr<Executor> executor = make_fiber_executor();
    const double begin = cpu_seconds();
    for (auto _ : state) {
        const auto report = executor->run(kernel, launch);
        if (!report || report->status != LaunchStatus::kDone) {
            state.SkipWithError(report ? report->message.c_str() : report.error().describe().c_str());
            return false;
        }
    }
    cpu = cpu_seconds() - begin;
    return true;
}

// Half values whose rounding doesn't depend on the order of sums: multiples of 1/8 up to 1.
std::vector<uint16_t> half_values(size_t count, uint32_t seed) {
    std::mt19937 generator(seed);
    std::vector<uint16_t> values(count);
    for (uint16_t& value : values) value = float_to_half(float(int(generator() % 17) - 8) / 8);
    return values;
}

// GEMMParams of MLX's steel kernels.
struct GemmParams {
    int m, n, k, lda, ldb, ldd, tiles_n, tiles_m;
    int64_t batch_a, batch_b, batch_d;
    int swizzle_log, k_iterations, batch_ndim;
};

// d = a * b for square matrices of `size`.
void gemm(benchmark::State& state, const char* name, int size, int tile_k, unsigned workers) {
    const auto kernel = mlx_kernel(
        state, name, {{10, false}, {100, false}, {110, false}, {200, true}, {201, true}, {202, true}});
    if (kernel == nullptr) return;
    const size_t count = size_t(size) * size;
    std::vector<uint16_t> a = half_values(count, 1), b = half_values(count, 2), d(count);
    GemmParams params{size, size, size, size, size, size, size / 64, size / 64, 0, 0, 0, 0, size / tile_k, 0};
    Launch launch;
    launch.grid_threads = {uint32_t(size) / 64 * 32, uint32_t(size) / 64 * 2, 2};
    launch.group_threads = {32, 2, 2};
    launch.max_workers = workers;
    launch.buffers[0] = {a.data(), 2 * count};
    launch.buffers[1] = {b.data(), 2 * count};
    launch.buffers[3] = {d.data(), 2 * count};
    launch.buffers[4] = {&params, sizeof params};
    double cpu = 0;
    if (!launch_repeatedly(state, *kernel, launch, cpu)) return;
    const double operations = 2e-9 * double(count) * size;
    state.counters["GFLOP/s"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["GFLOP/s/core"] = operations * double(state.iterations()) / cpu;
}

void rms_norm(benchmark::State& state, unsigned workers) {
    const auto kernel = mlx_kernel(state, "rmsfloat32", {{20, true}});
    if (kernel == nullptr) return;
    uint32_t n = 4096, stride = 1;
    std::vector<float> x(n, 0.5f), w(n, 2.0f), y(n);
    float epsilon = 1e-5f;
    Launch launch;
    launch.group_threads = launch.grid_threads = {1024, 1, 1};
    launch.max_workers = workers;
    launch.buffers[0] = {x.data(), 4 * n};
    launch.buffers[1] = {w.data(), 4 * n};
    launch.buffers[2] = {y.data(), 4 * n};
    launch.buffers[3] = {&epsilon, sizeof epsilon};
    launch.buffers[4] = {&n, sizeof n};
    launch.buffers[5] = {&stride, sizeof stride};
    double cpu = 0;
    if (!launch_repeatedly(state, *kernel, launch, cpu)) return;
    state.counters["cpu us"] = 1e6 * cpu / double(state.iterations());
}

void empty_dispatch(benchmark::State& state) {
    const auto kernel = compile(state, std::as_bytes(std::span(kEmptyKernel)), "test", {});
    if (kernel == nullptr) return;
    Launch launch;
    launch.group_threads = {32, 1, 1};
    launch.grid_threads = {uint32_t(state.range(0)), 1, 1};
    double cpu = 0;
    if (!launch_repeatedly(state, *kernel, launch, cpu)) return;
    state.counters["cpu us"] = 1e6 * cpu / double(state.iterations());
}

void register_all() {
    for (unsigned workers = 1; workers <= std::min(2u, num_available_cores()); ++workers) {
        const std::string suffix = "/workers:" + std::to_string(workers);
        benchmark::RegisterBenchmark(("steel_gemm/1024" + suffix).c_str(),
                                     [=](benchmark::State& state) { gemm(state, kSteel, 1024, 16, workers); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark(("nax_gemm/512" + suffix).c_str(),
                                     [=](benchmark::State& state) { gemm(state, kNax, 512, 256, workers); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    }
    benchmark::RegisterBenchmark("rms_norm/4096", [](benchmark::State& state) { rms_norm(state, 1); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark("empty_dispatch", empty_dispatch)
        ->Arg(32)
        ->Arg(1024)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace ingot::metal

int main(int argc, char** argv) {
    ingot::metal::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
