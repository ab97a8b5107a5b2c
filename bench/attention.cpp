// Attention by instruction set over an f16 cache: one token at growing contexts (column GB/s of keys and
// values) and 512 tokens at once (column Gop/s over the visible cells). Calls take the layers of a model in
// turn, so that long contexts come from memory as they do in a model. INGOT_BENCH_THREADS sets the threads.
#include "llm/backend/cpu/kernels/attention.h"

#include <cstdlib>
#include <vector>

#include <benchmark/benchmark.h>

namespace ingot::cpu {
namespace {

constexpr uint32_t kHeads = 14, kKvHeads = 2, kHeadDim = 64, kLayers = 24;  // a 0.5B model

void attend(benchmark::State& state, Isa isa, uint32_t tokens, uint32_t cells) {
    const char* text = std::getenv("INGOT_BENCH_THREADS");
    ThreadPool pool(text != nullptr ? uint32_t(std::atoi(text)) : num_available_cores());
    const size_t width = size_t(kHeads) * kHeadDim, kv_width = size_t(kKvHeads) * kHeadDim;
    std::vector<float> q(tokens * width, 0.1f), out(tokens * width);
    const size_t layer = cells * kv_width;
    const std::vector<uint16_t> k(layer * kLayers, 0x2E66), v(layer * kLayers, 0x3C00);
    std::vector<CellSpan> spans;
    double seen = 0;
    for (uint32_t t = 0; t < tokens; ++t) {
        spans.push_back({0, cells - tokens + t + 1});
        seen += spans.back().end;
    }
    AttentionArgs args{.q = q.data(),
                       .q_stride = width,
                       .k = k.data(),
                       .v = v.data(),
                       .format = kv::Format::kF16,
                       .cell_bytes = kv::row_bytes(kv::Format::kF16, kKvHeads * kHeadDim),
                       .out = out.data(),
                       .out_stride = width,
                       .num_tokens = tokens,
                       .num_heads = kHeads,
                       .num_kv_heads = kKvHeads,
                       .head_dim = kHeadDim,
                       .scale = 0.125f,
                       .spans = spans.data()};
    std::vector<std::byte> workspace(
        attention_workspace_bytes(tokens, kHeads, kKvHeads, kHeadDim, cells, pool.num_threads()) + 64);
    auto* aligned = workspace.data() + (64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64) % 64;
    size_t calls = 0;
    for (auto _ : state) {
        args.k = k.data() + calls % kLayers * layer;
        args.v = v.data() + calls++ % kLayers * layer;
        pool.run([&](Worker& worker) { attention(kernel_table(isa), worker, args, aligned); });
        benchmark::DoNotOptimize(out.data());
    }
    const auto rate = benchmark::Counter::kIsIterationInvariantRate;
    state.counters["Gop/s"] = benchmark::Counter(4e-9 * seen * double(width), rate);
    state.counters["GB/s"] = benchmark::Counter(4e-9 * double(cells) * double(kv_width), rate);
}

void register_all() {
    for (const Isa isa : available_isas()) {
        for (const auto& [tokens, cells] :
             {std::pair(1u, 64u), {1u, 512u}, {1u, 4096u}, {512u, 512u}, {512u, 4096u}}) {
            const std::string name =
                fmt::format("attention/{}/{}_tokens/{}_cells", to_string(isa), tokens, cells);
            benchmark::RegisterBenchmark(
                name.c_str(),
                [=, t = tokens, c = cells](benchmark::State& state) { attend(state, isa, t, c); })
                ->UseRealTime()
                ->Unit(benchmark::kMicrosecond);
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
