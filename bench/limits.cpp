// What this machine can do at most, for the ratios of the other benchmarks: bytes read from memory (column
// GB/s), 8-bit products summed and float multiply-adds (column Gop/s, two operations a product), each on one
// thread and on all. The instructions are those that the kernels of the instruction set are made of.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/thread_pool.h"
#include "llm/backend/cpu/kernels/isa.h"

namespace ingot::cpu {
namespace {

constexpr size_t kBytesPerThread = size_t(256) << 20;  // far more than any cache
constexpr int kSteps = 1 << 16;                        // of all chains, between two looks at the clock
constexpr int kChains = 10;                            // independent sums: more than latency times throughput

// Sums of 64-bit words, one stream a thread; the compiler's vectors are wide enough for memory.
uint64_t sum_of(const uint64_t* words, size_t count) {
    uint64_t sums[8] = {};
    for (size_t i = 0; i < count; i += 8) {
        for (size_t lane = 0; lane < 8; ++lane) sums[lane] += words[i + lane];
    }
    uint64_t sum = 0;
    for (const uint64_t lane : sums) sum += lane;
    return sum;
}

void read_memory(benchmark::State& state, uint32_t threads) {
    const size_t words = kBytesPerThread / sizeof(uint64_t);
    std::vector<std::unique_ptr<uint64_t[]>> regions;
    for (uint32_t i = 0; i < threads; ++i) regions.push_back(std::make_unique<uint64_t[]>(words));
    ThreadPool pool(threads);
    for (auto _ : state) {
        pool.run(
            [&](Worker& worker) { benchmark::DoNotOptimize(sum_of(regions[worker.index()].get(), words)); });
    }
    state.counters["GB/s"] = benchmark::Counter(1e-9 * double(kBytesPerThread) * threads,
                                                benchmark::Counter::kIsIterationInvariantRate);
}

// A loop of kSteps over kChains registers, and the products that one step of a chain stands for.
struct Peak {
    const char* name;
    Isa isa;
    void (*run)();
    int products;
};

// The instructions as text: as intrinsics, the compiler would compute a repeated product once. The sums are
// variables, not an array, so that they stay in registers.
#define INGOT_CHAINS(Vector, zero, step)                          \
    Vector c0 = zero, c1 = zero, c2 = zero, c3 = zero, c4 = zero; \
    Vector c5 = zero, c6 = zero, c7 = zero, c8 = zero, c9 = zero; \
    for (int i = 0; i < kSteps; ++i) {                            \
        step(c0);                                                 \
        step(c1);                                                 \
        step(c2);                                                 \
        step(c3);                                                 \
        step(c4);                                                 \
        step(c5);                                                 \
        step(c6);                                                 \
        step(c7);                                                 \
        step(c8);                                                 \
        step(c9);                                                 \
    }                                                             \
    for (Vector c : {c0, c1, c2, c3, c4, c5, c6, c7, c8, c9}) benchmark::DoNotOptimize(c)

#if defined(__x86_64__)
#define INGOT_STEP(c) \
    asm volatile("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(c), "=&x"(product) : "x"(a), "x"(b))
__attribute__((target("avx2"))) void avx2_bytes() {
    const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
    __m256i product;
    INGOT_CHAINS(__m256i, _mm256_setzero_si256(), INGOT_STEP);
}
#undef INGOT_STEP
#define INGOT_STEP(c) asm volatile("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
__attribute__((target("avx2,fma"))) void avx2_floats() {
    const __m256 a = _mm256_set1_ps(1.0f), b = _mm256_set1_ps(0.5f);
    INGOT_CHAINS(__m256, _mm256_setzero_ps(), INGOT_STEP);
}
__attribute__((target("avx512f"))) void avx512_floats() {
    const __m512 a = _mm512_set1_ps(1.0f), b = _mm512_set1_ps(0.5f);
    INGOT_CHAINS(__m512, _mm512_setzero_ps(), INGOT_STEP);
}
#undef INGOT_STEP
#define INGOT_STEP(c) asm volatile("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b))
__attribute__((target("avx512f,avx512vnni"))) void avx512_bytes() {
    const __m512i a = _mm512_set1_epi32(0x03030303), b = _mm512_set1_epi32(0x05050505);
    INGOT_CHAINS(__m512i, _mm512_setzero_si512(), INGOT_STEP);
}
#undef INGOT_STEP
constexpr Peak kPeaks[] = {{"int8/avx2", Isa::kAvx2, avx2_bytes, 32},
                           {"float/avx2", Isa::kAvx2, avx2_floats, 8},
                           {"int8/avx512-vnni", Isa::kAvx512Vnni, avx512_bytes, 64},
                           {"float/avx512-vnni", Isa::kAvx512Vnni, avx512_floats, 16}};
#elif defined(__aarch64__)
#define INGOT_STEP(c) asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(c) : "w"(a), "w"(b))
__attribute__((target("arch=armv8.2-a+dotprod"))) void neon_bytes() {
    const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
    INGOT_CHAINS(int32x4_t, vdupq_n_s32(0), INGOT_STEP);
}
#undef INGOT_STEP
#define INGOT_STEP(c) asm volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b))
void neon_floats() {
    const float32x4_t a = vdupq_n_f32(1.0f), b = vdupq_n_f32(0.5f);
    INGOT_CHAINS(float32x4_t, vdupq_n_f32(0), INGOT_STEP);
}
#undef INGOT_STEP
constexpr Peak kPeaks[] = {{"int8/neon-dotprod", Isa::kNeonDot, neon_bytes, 16},
                           {"float/neon-dotprod", Isa::kNeonDot, neon_floats, 4}};
#endif

void compute(benchmark::State& state, const Peak& peak, uint32_t threads) {
    ThreadPool pool(threads);
    for (auto _ : state) pool.run([&](Worker&) { peak.run(); });
    state.counters["Gop/s"] = benchmark::Counter(2e-9 * peak.products * kChains * kSteps * threads,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
    const char* text = std::getenv("INGOT_BENCH_THREADS");
    const uint32_t all = text != nullptr ? uint32_t(std::atoi(text)) : num_available_cores();
    const std::vector<Isa> isas = available_isas();
    for (const uint32_t threads : std::set<uint32_t>{1, all}) {
        benchmark::RegisterBenchmark(fmt::format("read/{}_threads", threads).c_str(),
                                     [=](benchmark::State& state) { read_memory(state, threads); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
        for (const Peak& peak : kPeaks) {
            if (std::find(isas.begin(), isas.end(), peak.isa) == isas.end()) continue;
            benchmark::RegisterBenchmark(fmt::format("{}/{}_threads", peak.name, threads).c_str(),
                                         [=](benchmark::State& state) { compute(state, peak, threads); })
                ->UseRealTime();
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
