// Element-wise and row kernels by instruction set, on a row of 4,864 floats (the feed-forward width of a 0.5B
// model) that stays in the first-level cache: columns elements/s and GB/s read and written.
#include <vector>

#include <benchmark/benchmark.h>

#include "llm/backend/cpu/kernels/kernel_table.h"

namespace ingot::cpu {
namespace {

constexpr size_t kWidth = 4864;

struct Rows {
    std::vector<float> a = std::vector<float>(kWidth, 0.5f), b = std::vector<float>(kWidth, 0.25f);
    std::vector<float> y = std::vector<float>(kWidth);
    std::vector<uint16_t> halves = std::vector<uint16_t>(kWidth);
};

struct Op {
    const char* name;
    uint32_t floats_moved;  // an element
    void (*run)(const KernelTable&, Rows&);
};

constexpr Op kOps[] = {
    {"add", 3, [](const KernelTable& k, Rows& r) { k.add(r.a.data(), r.b.data(), r.y.data(), kWidth); }},
    {"swiglu", 3,
     [](const KernelTable& k, Rows& r) { k.swiglu(r.a.data(), r.b.data(), r.y.data(), kWidth); }},
    {"geglu", 3, [](const KernelTable& k, Rows& r) { k.geglu(r.a.data(), r.b.data(), r.y.data(), kWidth); }},
    {"softmax", 2, [](const KernelTable& k, Rows& r) { k.softmax(r.a.data(), r.y.data(), kWidth); }},
    {"rms_norm", 3,
     [](const KernelTable& k, Rows& r) { k.rms_norm(r.a.data(), r.b.data(), r.y.data(), kWidth, 1e-6f); }},
    {"rope_neox", 3,
     [](const KernelTable& k, Rows& r) {
         k.rope_neox(r.a.data(), r.b.data(), r.b.data() + kWidth / 2, r.y.data(), kWidth / 2);
     }},
    {"rope_interleaved", 3,
     [](const KernelTable& k, Rows& r) {
         k.rope_interleaved(r.a.data(), r.b.data(), r.b.data() + kWidth / 2, r.y.data(), kWidth / 2);
     }},
    {"float_to_half", 2,
     [](const KernelTable& k, Rows& r) { k.float_to_half(r.a.data(), r.halves.data(), kWidth); }},
};

void run(benchmark::State& state, Isa isa, const Op& op) {
    Rows rows;
    const KernelTable& kernels = kernel_table(isa);
    for (auto _ : state) {
        op.run(kernels, rows);
        benchmark::ClobberMemory();
    }
    const auto rate = benchmark::Counter::kIsIterationInvariantRate;
    state.counters["Gelements/s"] = benchmark::Counter(1e-9 * kWidth, rate);
    state.counters["GB/s"] = benchmark::Counter(4e-9 * kWidth * op.floats_moved, rate);
}

void register_all() {
    for (const Isa isa : available_isas()) {
        for (const Op& op : kOps) {
            benchmark::RegisterBenchmark(fmt::format("{}/{}", op.name, to_string(isa)).c_str(),
                                         [=](benchmark::State& state) { run(state, isa, op); });
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
