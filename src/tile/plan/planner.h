// The planner: for each matrix product of a kernel the division among simdgroups and the accumulator's place,
// and the number of threads, chosen among what is legal. What is legal the passes prove; what it costs
// work_model.h says; the choice is solver.h's. A plan that the passes don't confirm is dropped and the next
// one tried, on a fresh copy: the kernel that comes in is never changed. What stays undecided is done the
// reference way, which is also what `enabled = false` leaves.
#pragma once

#include "tile/passes/passes.h"
#include "tile/plan/solver.h"
#include "tile/plan/work_model.h"

namespace ingot::tile {

// X(name, default, meaning): choices that the planner may make; switched off, it does without.
#define INGOT_TILE_PLANNER_FLAGS(X)                                                           \
    X(residency, true, "accumulators stay in registers over a loop")                          \
    X(direct_accumulator_store, true, "accumulators go from registers to device memory")      \
    X(bypass_staging, true, "products read tensors instead of tiles that only staged them")   \
    X(bounded_views, true, "products read up to an edge what tiles would fill in past it")    \
    X(bounded_stores, true, "accumulators go to device memory past an edge, too")             \
    X(map_gpu_cooperative_programs, true, "element loops that sum products become products")  \
    X(overwrite_accumulators, true, "a product after a fill with 0 stores instead of adding") \
    X(fuse_matrix_epilogues, false, "tiles between element loops behind a product go")        \
    X(pipeline_loops, true, "pipelined loops copy steps ahead")                               \
    X(pad_shared_rows, true, "rows of shared operands are padded")                            \
    X(coalesce_group_barriers, true, "barriers only where accesses conflict")                 \
    X(elide_independent_subgroup_barriers, false,                                             \
      "no barriers where the simdgroups of a group are proved independent")                   \
    X(admit_reference_division, true,                                                         \
      "the reference way's division, where every rectangle is past the budget")               \
    X(search_threads, false, "any number of threads instead of the program's")

struct PlannerOptions {
    bool enabled = true;
#define X(name, value, meaning) bool name = value;
    INGOT_TILE_PLANNER_FLAGS(X)
#undef X
    std::optional<uint32_t> exact_threads;  // instead of the program's
    uint32_t fragment_budget = 64;          // scalars of matrices that a lane may hold
    size_t max_thread_candidates = 32;
    uint32_t max_copy_batch = 1;  // up to 16
    // Exactly these, by product from the first on: an Error where one isn't legal. Empty: any.
    std::vector<ProductChoice> fixed;
    std::optional<Swizzle> traversal;  // order of groups, instead of the program's
    CostBasis mpp_basis = CostBasis::kMppMemoryV3;
    std::optional<Costs> costs;  // instead of the target's
};

// What was decided for one product.
struct PlannedProduct {
    uint32_t number = 0;  // Stmt::product
    std::string where;
    Path path = Path::kScalar;
    CostBasis basis = CostBasis::kSimdgroupReference;
    ProductWork work;
    Realization chosen;
    Priced priced;
    std::string not_resident, not_direct;  // what was not proved
};

struct RefusedRealization {
    std::string where, realization, why;
};

// Another plan, and what it would cost.
struct PlanAlternative {
    uint32_t threads = 0;
    std::vector<Realization> products;
    double score = 0;
    uint64_t shared_bytes = 0;
};

struct GroupPlan {
    bool enabled = false, applied = false;
    std::string why_reference;  // why the reference way was kept, if it was
    uint32_t threads = 0;
    std::vector<PlannedProduct> products;
    GroupWork work;
    double score = 0;
    uint64_t shared_bytes = 0;                  // as the solver adds it up; what is laid out may be less
    std::vector<PlanAlternative> alternatives;  // at most two, cheapest first
    std::vector<RefusedRealization> refused;
    std::vector<std::string> assumed;  // sizes that weren't known
    SolverCounters counters;
    size_t barrier_sites_reference = 0, barrier_sites = 0;
    uint64_t forwarded_bytes = 0;        // of tiles whose readers read what they were copied from
    uint32_t automatic_cooperative = 0;  // products that were element loops
    bool independent_subgroups = false;  // proved, whether barriers were elided for it or not
    uint32_t max_copy_batch = 1, batched_copies = 0;  // what was asked for, and copies that do so

    std::string cost_basis() const;  // of its products, joined by +
};

// A group's plan with what the passes made of it.
struct PlannedKernel {
    Kernel kernel;  // before the passes: numbered products, threads, traversal
    PlanOptions options;
    GroupPlan plan;
    // What the passes make of that, where the planner has run them on its choice: there is no need to run
    // them again.
    struct Passed {
        Kernel kernel;
        Plan plan;
    };
    std::optional<Passed> passed = {};
};

// Errors: options that can't be served; more numbers of threads than the limit. A kernel that can't be
// planned is none: `why_reference` says why.
Result<PlannedKernel> plan_group(const Kernel& k, const PlanOptions& reference,
                                 const PlannerOptions& options);

// Every legal realization of each product at the number of threads that the options and the program say; what
// `fixed` takes.
Result<std::vector<std::vector<Realization>>> legal_realizations(const Kernel& k,
                                                                 const PlanOptions& reference,
                                                                 const PlannerOptions& options);

// "1 x 4 simdgroups with 4 x 2 atoms of 8 x 8, direct".
std::string describe(const Realization& r);
// For people: the plan, its alternatives, what was refused and why.
std::string explain(const GroupPlan& plan);

}  // namespace ingot::tile
