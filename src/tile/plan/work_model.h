// What a plan makes a group do, in numbers, and what that costs: facts about matrix products and the rest of
// a group go in, features and a score come out. Two bases, which are never compared with each other:
// simdgroup matrices, and cooperative tensors ("metal_mpp_memory", version 2 and 3). Scores rank legal
// plans; they are no times. Counts are those of one group, exact, and an Error where they don't fit 64 bits.
#pragma once

#include <span>

#include "tile/plan/costs.h"
#include "tile/plan/execution_map.h"
#include "tile/plan/mean_extent.h"

namespace ingot::tile {

#define INGOT_TILE_COST_BASES(X)                                            \
    X(SimdgroupReference, "simdgroup_reference", "8x8 simdgroup matrices")  \
    X(MppMemoryV2, "metal_mpp_memory_v2", "cooperative tensors, nominal K") \
    X(MppMemoryV3, "metal_mpp_memory_v3", "cooperative tensors, mean physical K and remaining elements")

enum class CostBasis : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_COST_BASES(X)
#undef X
};
inline constexpr std::string_view kCostBasisNames[] = {
#define X(id, name, meaning) name,
    INGOT_TILE_COST_BASES(X)
#undef X
};

// One product of a group, and what was proved of it.
struct ProductWork {
    uint32_t m = 8, n = 8, k = 8;  // the tile's sizes
    uint64_t executions = 1;       // of it in a group
    uint64_t recurrence = 1;       // executions between two uses of the accumulator by others; divides them
    bool clears = false;           // each execution overwrites the accumulator
    // How often a group moves a whole accumulator that lives in registers: from shared memory, to it
    // (resident) or to device memory (direct). Where not given: once a recurrence each.
    std::optional<uint64_t> loads = {}, stores = {};
    bool stored_by_elements = false;  // a direct one isn't stored as matrices: an element loop takes it
    MeanExtent physical_k{0, 1};      // of the k; total 0: as k
    bool overwrites = false;  // the first execution of each recurrence starts from +0, and it is the only one
    // Elements outside of products, among the group's, that are gone with a resident accumulator, and further
    // ones that are gone if it is stored directly.
    uint64_t resident_elements = 0, direct_elements = 0;
};

// How one product is done.
struct Realization {
    Partition partition;
    Accumulator accumulator = Accumulator::kShared;
};

// X(name, meaning): what the models count of one product.
#define INGOT_TILE_FEATURES(X)                                                            \
    X(matrix_issues, "8x8x8 products; of cooperative tensors by the mean physical K")     \
    X(nominal_matrix_issues, "8x8x8 products of the nominal tiles")                       \
    X(tensor_operations, "matmul2d operations of simdgroups")                             \
    X(input_transfers, "8x8 matrices of A and B that simdgroups load or read")            \
    X(lhs_footprint, "different 8x8 matrices of A")                                       \
    X(rhs_footprint, "different 8x8 matrices of B")                                       \
    X(accumulator_transfers, "8x8 matrices of C loaded from and stored to shared memory") \
    X(direct_stores, "8x8 matrices of C stored to device memory")                         \
    X(initializations, "8x8 matrices of accumulators set before a recurrence")            \
    X(scalars_per_lane, "matrix elements that a lane holds at a time")                    \
    X(removed_elements, "elements outside of the products that this realization does without")

struct Features {
#define X(name, meaning) double name = 0;
    INGOT_TILE_FEATURES(X)
#undef X

    bool operator==(const Features&) const = default;
};

// What one feature adds to the score, pressure and division among simdgroups included.
struct PricedPart {
    std::string_view feature;
    double cost;
};

struct Priced {
    Features features;
    std::vector<PricedPart> parts;  // what isn't free; their sum is the score
    double score = 0;               // its part of the group's, before what the group as a whole multiplies
};

// Error: zero or uneven sizes; counts past 64 bits.
Result<Features> features_of(CostBasis basis, const ProductWork& work, const Realization& r);
Result<Priced> price(CostBasis basis, const ProductWork& work, const Realization& r, const Costs& costs);

// What all products of a group share.
struct GroupWork {
    uint64_t independent_elements = 0;  // outside of the products: copied, filled, computed
    uint64_t programs = 1;              // groups of the launch
};
// Error: products claim more elements than the group has, without overflow.
Result<void> check_elements(const GroupWork& group, std::span<const ProductWork> products);

// The group's score is (the products' scores + common) * scale.
struct GroupPrice {
    double common = 0, scale = 1;
};
GroupPrice price_group(CostBasis basis, const GroupWork& group, uint32_t simdgroups, const Costs& costs);

// Scalars of matrices a lane holds in a realization: rectangles keep A, B and C fragments of simdgroup
// matrices, C alone of cooperative tensors.
uint32_t scalars_per_lane(CostBasis basis, const Realization& r);
// The least that any realization needs; a smaller budget serves nothing.
uint32_t least_scalars_per_lane(CostBasis basis);

}  // namespace ingot::tile
