// Choosing a token out of a vocabulary of 151,936 (Qwen): greedy, with the default options, and with the
// options that look at every token.
#include "llm/text/sampler.h"

#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace ingot {
namespace {

constexpr size_t kVocabulary = 151936;

void sample(benchmark::State& state, const SamplerOptions& options) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal(0, 3);
    std::vector<float> logits(kVocabulary);
    for (float& logit : logits) logit = normal(generator);
    Sampler sampler(options);
    for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(logits));
    state.counters["GB/s"] = benchmark::Counter(1e-9 * double(logits.size() * sizeof(float)),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

struct Case {
    const char* name;
    void (*change)(SamplerOptions&);  // of the defaults
};
constexpr Case kCases[] = {
    {"greedy", [](SamplerOptions& o) { o.temperature = 0; }},
    {"default", [](SamplerOptions&) {}},
    {"repeat_penalty", [](SamplerOptions& o) { o.repeat_penalty = 1.1f; }},
    {"min_p_alone", [](SamplerOptions& o) { o.top_k = 0, o.top_p = 1; }},
    {"top_p_alone", [](SamplerOptions& o) { o.top_k = 0, o.min_p = 0; }},
    {"typical", [](SamplerOptions& o) { o.typical_p = 0.9f; }},
};

void register_all() {
    for (const Case& c : kCases) {
        SamplerOptions options;
        c.change(options);
        benchmark::RegisterBenchmark((std::string("sample/") + c.name).c_str(), [=](benchmark::State& state) {
            sample(state, options);
        })->Unit(benchmark::kMicrosecond);
    }
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
    ingot::register_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
