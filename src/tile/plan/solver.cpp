#include "tile/plan/solver.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace ingot::tile {
namespace {

// A choice for the first few operations.
struct PartialPlan {
    double score = 0;
    uint64_t released = 0;
    std::vector<uint64_t> chosen;
};

// Keeps those that no other one is at least as good as in both; of equals the one with the least keys.
void keep_frontier(std::vector<PartialPlan>& states, SolverCounters& counters) {
    std::ranges::sort(states, [](const PartialPlan& a, const PartialPlan& b) {
        return std::tie(a.score, b.released, a.chosen) < std::tie(b.score, a.released, b.chosen);
    });
    std::vector<PartialPlan> kept;
    for (PartialPlan& s : states) {
        if (!kept.empty() && s.released <= kept.back().released) {
            ++counters.dominated;
            continue;
        }
        kept.push_back(std::move(s));
    }
    states = std::move(kept);
}

std::optional<Solution> solve_width(const SolverWidth& w, uint64_t capacity, SolverCounters& counters,
                                    uint64_t& least_bytes) {
    std::vector<PartialPlan> states(1);
    for (const SolverOperation& op : w.operations) {
        std::vector<PartialPlan> next;
        for (const PartialPlan& s : states) {
            for (const SolverCandidate& c : op.candidates) {
                PartialPlan more{s.score + c.score, s.released + c.released_bytes, s.chosen};
                more.chosen.push_back(c.key);
                next.push_back(std::move(more));
            }
        }
        counters.candidates += op.candidates.size();
        counters.states += next.size();
        keep_frontier(next, counters);
        states = std::move(next);
    }
    std::optional<Solution> best;
    for (PartialPlan& s : states) {
        const uint64_t bytes = w.shared_bytes - std::min(w.shared_bytes, s.released);
        least_bytes = std::min(least_bytes, bytes);
        if (bytes > capacity) {
            ++counters.over_capacity;
            continue;
        }
        Solution found{w.threads, (s.score + w.common) * w.scale, bytes, std::move(s.chosen)};
        if (!best || std::tie(found.score, found.chosen) < std::tie(best->score, best->chosen))
            best = std::move(found);
    }
    return best;
}

}  // namespace

Result<Solved> solve(std::vector<SolverWidth> widths, const SolverLimits& limits) {
    if (widths.size() > limits.max_thread_candidates)
        return fail(ErrorKind::kLimit,
                    "{} numbers of threads to choose from; at most {} are searched (max_thread_candidates)",
                    widths.size(), limits.max_thread_candidates);
    std::ranges::sort(widths, {}, &SolverWidth::threads);
    Solved out;
    uint64_t least_bytes = std::numeric_limits<uint64_t>::max();
    for (SolverWidth& w : widths) {
        std::ranges::sort(w.operations, {}, &SolverOperation::key);
        for (SolverOperation& op : w.operations) std::ranges::sort(op.candidates, {}, &SolverCandidate::key);
        ++out.counters.widths;
        if (auto best = solve_width(w, limits.capacity_bytes, out.counters, least_bytes))
            out.best.push_back(std::move(*best));
    }
    if (out.best.empty()) {
        if (least_bytes == std::numeric_limits<uint64_t>::max())
            return fail(ErrorKind::kUnsupported,
                        "some operation has no legal realization at any number of threads");
        return fail(ErrorKind::kLimit, "the least plan needs {} bytes of threadgroup memory; there are {}",
                    least_bytes, limits.capacity_bytes);
    }
    std::ranges::stable_sort(out.best, {}, &Solution::score);
    return out;
}

}  // namespace ingot::tile
