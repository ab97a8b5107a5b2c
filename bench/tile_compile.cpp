// How long the tile compiler takes from a built program to Metal source, one core: every kernel of the
// library for a target without and with cooperative tensors. The column budget_ms is what the median may
// take; a median above it is listed at the end and makes the program fail.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tile/api/compile.h"
#include "tile/ir/parse.h"
#include "tile/library/library.h"

namespace ingot::tile {
namespace {

constexpr std::string_view kTargetNames[] = {"metal-m4", "metal-m5"};

double budget_ms(std::string_view name, std::string_view target) {
    if (name == "gemm") return 1.5;
    if (name == "gemm_direct" && target == "metal-m5") return 0.5;
    return 5;
}

void compile_kernel(benchmark::State& state, const Kernel& k, std::string_view target, double budget) {
    CompileOptions options;
    options.target = target;
    size_t bytes = 0;
    for (auto _ : state) {
        const auto compiled = compile(k, options);
        if (!compiled) return state.SkipWithError(compiled.error().describe().c_str());
        bytes = compiled->source.size();
    }
    state.counters["budget_ms"] = budget;
    state.counters["source_bytes"] = double(bytes);
}

// Prints as usual and keeps what was too slow.
class Budgets : public benchmark::ConsoleReporter {
  public:
    void ReportRuns(const std::vector<Run>& runs) override {
        ConsoleReporter::ReportRuns(runs);
        for (const Run& r : runs) {
            if (r.aggregate_name != "median") continue;
            const auto budget = r.counters.find("budget_ms");
            if (budget != r.counters.end() && r.GetAdjustedCPUTime() > budget->second.value)
                too_slow_.push_back(fmt::format("{}: {:.3f} ms of {}", r.run_name.function_name,
                                                r.GetAdjustedCPUTime(), budget->second.value));
        }
    }
    const std::vector<std::string>& too_slow() const { return too_slow_; }

  private:
    std::vector<std::string> too_slow_;
};

int run(int argc, char** argv) {
    for (const LibraryKernel& entry : library()) {
        const auto k = parse(entry.text, entry.name);
        if (!k) {
            fmt::print(stderr, "{}\n", k.error().describe());
            return 1;
        }
        for (const std::string_view target : kTargetNames) {
            const double budget = budget_ms(entry.name, target);
            benchmark::RegisterBenchmark(fmt::format("{}/{}", entry.name, target).c_str(),
                                         [k = *k, target, budget](benchmark::State& state) {
                                             compile_kernel(state, k, target, budget);
                                         })
                ->Unit(benchmark::kMillisecond)
                ->MinTime(0.02)
                ->Repetitions(9)
                ->ReportAggregatesOnly();
        }
    }
    benchmark::Initialize(&argc, argv);
    Budgets reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    for (const std::string& line : reporter.too_slow()) fmt::print("over its budget: {}\n", line);
    return reporter.too_slow().empty() ? 0 : 1;
}

}  // namespace
}  // namespace ingot::tile

int main(int argc, char** argv) {
    return ingot::tile::run(argc, argv);
}
