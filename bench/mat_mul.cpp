// Matrix products by weight type and instruction set: decode (1 to 8 tokens, columns GB/s of packed weights)
// and prefill (512 tokens, column Gop/s: two operations a product). Decode goes round 24 matrices, 100 MB and
// more, so that weights come from memory; INGOT_BENCH_THREADS sets the threads (default: all cores).
#include "llm/backend/cpu/kernels/mat_mul.h"

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/half.h"

namespace ingot::cpu {
namespace {

constexpr uint32_t kRows = 4864, kCols = 1024;  // the feed-forward shape of a 0.5B model, whole super-blocks
constexpr uint32_t kMatrices = 24;

uint32_t num_threads() {
    const char* text = std::getenv("INGOT_BENCH_THREADS");
    return text != nullptr ? uint32_t(std::atoi(text)) : num_available_cores();
}

// Random bits. Scales may be any half, so infinities occur; the time of the kernels doesn't depend on values.
std::vector<std::byte> random_bytes(QuantType type) {
    const QuantTraits& quant = traits(type);
    std::vector<std::byte> bytes(size_t(kRows) * kCols / quant.block_size * quant.block_size_bytes);
    std::mt19937 generator(1);
    for (std::byte& byte : bytes) byte = std::byte(generator() & 0x3F);  // no NaN or infinity, few subnormals
    return bytes;
}

void multiply(benchmark::State& state, Isa isa, QuantType type, uint32_t tokens) {
    const std::vector<std::byte> bytes = random_bytes(type);
    ThreadPool pool(num_threads());
    std::vector<std::vector<std::byte>>
        copies;  // kernels that read GGUF rows need memory of their own as well
    PackedStorage storage;
    std::vector<PackedMatrix> matrices;
    const uint32_t count = tokens <= 8 ? kMatrices : 1;
    copies.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
        copies.push_back(bytes);
        auto matrix =
            PackedMatrix::prepare(kernel_table(isa), type, kRows, kCols, copies.back(), {storage, &pool});
        if (!matrix) return state.SkipWithError(matrix.error().describe().c_str());
        if (matrix->is_packed()) copies.back() = {};
        matrices.push_back(*std::move(matrix));
    }
    std::vector<float> x(size_t(tokens) * kCols), y(size_t(tokens) * kRows);
    std::mt19937 generator(2);
    for (float& value : x) value = float(int(generator() % 2001) - 1000) / 1000;
    const MatMulOutput first{.weights = &matrices[0], .y = y.data(), .y_stride = kRows};
    std::vector<std::byte> workspace(mat_mul_workspace_bytes({&first, 1}, tokens, pool.num_threads()) + 64);
    auto* aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
    for (auto _ : state) {
        pool.run([&](Worker& worker) {
            for (const PackedMatrix& matrix : matrices) {
                const MatMulOutput output{.weights = &matrix, .y = y.data(), .y_stride = kRows};
                mat_mul(worker, {&output, 1}, x.data(), kCols, tokens, aligned);
                worker.barrier();
            }
        });
        benchmark::DoNotOptimize(y.data());
    }
    const double products = double(kRows) * kCols * tokens * count;
    const double bytes_read = double(matrices[0].storage_bytes()) * count;
    state.counters["Gop/s"] =
        benchmark::Counter(2e-9 * products, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["GB/s"] =
        benchmark::Counter(1e-9 * bytes_read, benchmark::Counter::kIsIterationInvariantRate);
}

void pack(benchmark::State& state, Isa isa, QuantType type) {
    const std::vector<std::byte> bytes = random_bytes(type);
    ThreadPool pool(num_threads());
    for (auto _ : state) {
        PackedStorage storage;
        auto matrix = PackedMatrix::prepare(kernel_table(isa), type, kRows, kCols, bytes, {storage, &pool});
        benchmark::DoNotOptimize(matrix->group(0));
    }
    state.counters["GB/s"] =
        benchmark::Counter(1e-9 * double(bytes.size()), benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
    for (const Isa isa : available_isas()) {
        for (const QuantTraits& quant : all_quant_types()) {
            const std::string suffix = fmt::format("{}/{}", to_string(isa), quant.name);
            for (const uint32_t tokens : {1, 2, 4, 8, 512}) {
                const std::string name =
                    fmt::format("{}/{}/{}", tokens == 512 ? "prefill" : "decode", suffix, tokens);
                benchmark::RegisterBenchmark(
                    name.c_str(),
                    [=, type = quant.type](benchmark::State& state) { multiply(state, isa, type, tokens); })
                    ->UseRealTime()
                    ->Unit(benchmark::kMillisecond);
            }
            benchmark::RegisterBenchmark(
                fmt::format("pack/{}", suffix).c_str(),
                [=, type = quant.type](benchmark::State& state) { pack(state, isa, type); })
                ->UseRealTime()
                ->Unit(benchmark::kMillisecond);
        }
    }
}

}  // namespace
}  // namespace ingot::cpu

int main(int argc, char** argv) {
    ingot::cpu::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
