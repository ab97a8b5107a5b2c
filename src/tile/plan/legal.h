// What is legal at one number of threads: each product's realizations with their prices, by what the passes
// and proofs say of the kernel. What isn't legal is written down with the reason.
#pragma once

#include <map>
#include <set>

#include "tile/plan/planner.h"
#include "tile/plan/workload.h"

namespace ingot::tile {

// By key, which also orders equal scores: registers before shared memory, rectangles before turns, near
// squares first, as divide() has it.
struct LegalPlans {
    Kernel kernel;  // before the passes
    Workload facts;
    std::vector<std::map<uint64_t, Realization>> realizations;  // of each planned product
    std::vector<std::map<uint64_t, Priced>> prices;
    std::vector<size_t> planned;  // indices into facts.products
    GroupPrice group;
    uint64_t shared_bytes = 0;
    std::set<std::pair<size_t, uint64_t>> dropped;  // realizations that the passes didn't confirm
};

// Products get numbers, which passes keep.
Kernel number_products(const Kernel& k);
bool is_tensor_path(Path p);
// The reference way's options with the planner's switches.
PlanOptions switched(const PlanOptions& reference, const PlannerOptions& options);
CostBasis basis_of(const ProductFacts& p, const PlannerOptions& options);

// `numbered`: its products have numbers. Errors: what stops the passes. Adds to `refused`.
Result<LegalPlans> legal_plans(const Kernel& numbered, uint32_t threads, const PlanOptions& reference,
                               const PlannerOptions& options, const Costs& costs,
                               std::vector<RefusedRealization>& refused);

}  // namespace ingot::tile
