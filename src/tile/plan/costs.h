// What a unit of work costs on a target, as data: files of lines "NAME VALUE" (plan/costs/TARGET.costs),
// which are part of the program. These are priors that rank legal plans, not times; none can make an illegal
// plan legal. A file may start with "like TARGET" and change that target's values.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot::tile {

// X(name, least, meaning): a value below `least` is refused. `simdgroup_` are of the model of simdgroup
// matrices, `mpp_` of that of cooperative tensors, `counted_` for tuning on a device that
// counts.
#define INGOT_TILE_COSTS(X)                                                                            \
    X(simdgroup_matrix_issue, 0, "an 8x8x8 product")                                                   \
    X(simdgroup_fragment_transfer, 0, "an 8x8 matrix loaded or stored")                                \
    X(simdgroup_preferred_scalars, 1, "scalars of matrices a lane holds without being slower for it")  \
    X(simdgroup_preferred_subgroups, 1, "simdgroups of a group that keep the device busy")             \
    X(simdgroup_preferred_programs, 1, "groups that run at once")                                      \
    X(simdgroup_element, 0, "an element outside of the products that a thread computes or moves")      \
    X(simdgroup_setup, 0, "a simdgroup's start")                                                       \
    X(mpp_matrix_issue, 0, "an 8x8x8 part of a product")                                               \
    X(mpp_operation, 0, "a matmul2d of a simdgroup")                                                   \
    X(mpp_fragment_read, 0, "8x8 elements of an operand read by a simdgroup")                          \
    X(mpp_lhs_footprint, 0, "8x8 different elements of A")                                             \
    X(mpp_rhs_footprint, 0, "8x8 different elements of B")                                             \
    X(mpp_accumulator_initialization, 0, "8x8 elements of an accumulator set before the product")      \
    X(mpp_direct_store, 0, "8x8 elements stored to device memory from the accumulator")                \
    X(mpp_shared_transfer, 0, "8x8 elements of an accumulator moved from or to threadgroup memory")    \
    X(mpp_tile_aspect, 0, "an 8x8x8 part, for each doubling of the tile's longer side over the other") \
    X(mpp_local_aspect, 0, "the same for a simdgroup's rectangle")                                     \
    X(mpp_preferred_scalars, 1, "scalars of accumulators a lane holds without being slower for it")    \
    X(mpp_element, 0, "an element outside of the products that a thread computes or moves")            \
    X(mpp_group_setup, 0, "a group's start")                                                           \
    X(mpp_concurrent_subgroups, 1, "simdgroups that run at once on the device")                        \
    X(counted_arithmetic, 0, "an arithmetic instruction of a thread, where a device counts them")      \
    X(counted_barrier, 0, "a meeting of a group, where a device counts them")                          \
    X(assumed_dim, 1, "a size that is unknown when a plan is made")

struct Costs {
#define X(name, least, meaning) double name = 0;
    INGOT_TILE_COSTS(X)
#undef X

    bool operator==(const Costs&) const = default;
};

struct CostFile {
    std::string_view name, text;
};
std::span<const CostFile> cost_files();

// Every name once, numbers not below their least; errors name the line. `file` names the text in them.
Result<Costs> parse_costs(std::string_view text, std::string_view file);
Result<Costs> costs_of(std::string_view target);
// The text of a file that parse_costs reads back to the same values.
std::string to_text(const Costs& costs);

}  // namespace ingot::tile
