// The exact choice among priced candidates: for each number of threads a realization for each operation, so
// that what they need of shared memory fits and the score is the least. Pareto dynamic programming over
// (score, released bytes), which is exact while both are sums over operations. No clock, no global state; the
// answer doesn't depend on the order of the input.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace ingot::tile {

// A realization of one operation. `released_bytes`: shared memory it does without. `key` tells candidates of
// one operation apart and orders those that are equally good.
struct SolverCandidate {
    uint64_t key = 0;
    double score = 0;
    uint64_t released_bytes = 0;
};

struct SolverOperation {
    uint64_t key = 0;
    std::vector<SolverCandidate> candidates;
};

// One number of threads: the group scores (sum + common) * scale, scale > 0.
struct SolverWidth {
    uint32_t threads = 0;
    double common = 0, scale = 1;
    uint64_t shared_bytes = 0;  // if nothing is released
    std::vector<SolverOperation> operations;
};

struct SolverLimits {
    uint64_t capacity_bytes = 0;
    size_t max_thread_candidates = 32;
};

struct SolverCounters {
    size_t widths = 0, candidates = 0, states = 0, dominated = 0, over_capacity = 0;

    bool operator==(const SolverCounters&) const = default;
};

struct Solution {
    uint32_t threads = 0;
    double score = 0;
    uint64_t shared_bytes = 0;
    // The chosen candidate's key for each operation, by the operations' keys ascending.
    std::vector<uint64_t> chosen;

    bool operator==(const Solution&) const = default;
};

struct Solved {
    std::vector<Solution> best;  // of each width that has one, least score first
    SolverCounters counters;
};

// Errors: more widths than the limit (never a silent prefix); no combination that fits, with what the least
// one needs.
Result<Solved> solve(std::vector<SolverWidth> widths, const SolverLimits& limits);

}  // namespace ingot::tile
