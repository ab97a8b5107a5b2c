// How much of a nominal tile extent is there on average: the mean of min(cap, first + step * i) over a loop,
// in closed form. A fact for costs alone, never a reason to leave a load or a computation out.
#pragma once

#include <map>
#include <optional>

#include "tile/proof/domain.h"

namespace ingot::tile {

// Sum of the extents over `count` steps, exact.
struct MeanExtent {
    uint64_t total = 0, count = 1;

    double value() const { return double(total) / double(count); }
    bool operator==(const MeanExtent&) const = default;
};

// Nothing where a value wouldn't be positive, there are no steps, or the sum doesn't fit.
std::optional<MeanExtent> mean_capped(int64_t first, int64_t step, int64_t count, std::optional<int64_t> cap);

// The mean of what dimension `d` of the region has inside of its tensor, over the loops around it (their
// extents by index variable; nothing for one that isn't constant). The nominal size where it isn't a constant
// or one index's affine form, or not proved positive.
MeanExtent mean_inside(const Kernel& k, const Region& r, size_t d,
                       const std::map<VarId, std::optional<int64_t>>& loops);

}  // namespace ingot::tile
