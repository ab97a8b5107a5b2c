// Facts about a kernel for the planner: how often things run, how much they touch, where accumulators could
// live. Read off the program after paths are selected; sizes that aren't known yet are assumed, and said to
// be.
#pragma once

#include "tile/passes/passes.h"
#include "tile/plan/planner.h"

namespace ingot::tile {

struct ProductFacts {
    uint32_t number = 0;  // Stmt::product
    StmtId stmt;
    Path path = Path::kScalar;
    std::string why_path;
    Policy policy = Policy::kSquare;
    ProductWork work;
    std::string not_resident, not_direct;  // empty: proved
    // Shared memory that the accumulator takes if it lives there, that a resident one does without, and that
    // one stored directly does.
    uint64_t accumulator_bytes = 0, released_resident = 0, released_direct = 0;
};

struct Workload {
    GroupWork group;
    std::vector<ProductFacts> products;
    std::vector<std::string> assumed;
};

// `k` after the pass select-paths; `assumed_dim` for dims that aren't known.
Workload workload_of(const Kernel& k, const PlanOptions& options, double assumed_dim);

}  // namespace ingot::tile
