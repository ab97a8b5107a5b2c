#include "metal/exec/fibers/cooperative_layout.h"

#include <algorithm>
#include <numeric>

namespace ingot::metal::fibers {
namespace {

// A multiplier without a common factor permutes [0, count).
int64_t multiplier_for(int count) {
    for (const int candidate : {37, 41, 43, 47}) {
        if (std::gcd(candidate, count) == 1) return candidate;
    }
    return 1;
}

}  // namespace

Place place_of(const CooperativeShape& shape, int thread, int element) {
    const Place nothing{shape.rows, shape.columns};
    if (shape.layout == CooperativeLayout::kNax && shape.has_fragments()) {
        const int lane = thread % int(kSimdWidth), simdgroup = thread / int(kSimdWidth);
        const int fragment = simdgroup * shape.fragments_per_simdgroup() + element / kFragmentElements;
        const int across = shape.columns / kFragment, i = element % kFragmentElements;
        if (fragment >= across * (shape.rows / kFragment)) return nothing;
        const Place first = fragment_place(lane);
        return {fragment / across * kFragment + first.row + 8 * (i >> 2),
                fragment % across * kFragment + first.column + (i & 3)};
    }
    int index = element * shape.threads + thread;
    if (shape.layout == CooperativeLayout::kScrambled) {
        const int count = shape.capacity() * shape.threads;
        index = int(multiplier_for(count) * index % count);
    }
    if (index >= shape.rows * shape.columns) return nothing;
    return {index / shape.columns, index % shape.columns};
}

Rectangle extent_of(const CooperativeShape& shape, int simdgroup) {
    if (shape.layout != CooperativeLayout::kNax || !shape.has_fragments()) {
        return {0, 0, shape.rows, shape.columns};
    }
    const int across = shape.columns / kFragment, count = shape.fragments_per_simdgroup();
    const int first = simdgroup * count;
    const int last = std::min(first + count, across * (shape.rows / kFragment)) - 1;
    if (last < first) return {0, 0, 0, 0};
    const int band = first / across, bands = last / across - band + 1;
    if (bands > 1) return {band * kFragment, 0, bands * kFragment, shape.columns};
    return {band * kFragment, first % across * kFragment, kFragment, (last - first + 1) * kFragment};
}

}  // namespace ingot::metal::fibers
