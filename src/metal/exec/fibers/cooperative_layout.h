// Where the elements of a cooperative tensor lie: which row and column a thread's element stands for. Apple
// leaves the map to the implementation; here it is a setting (CooperativeLayout). The elements of a thread
// are contiguous. A scope is one thread, or one or more simdgroups; in a larger scope each simdgroup holds
// consecutive 16x16 fragments (kNax).
#pragma once

#include <cstdint>

#include "metal/exec/kernel.h"
#include "metal/exec/launch.h"

namespace ingot::metal::fibers {

constexpr int kFragment = 16;         // rows and columns of a NAX fragment
constexpr int kFragmentElements = 8;  // of one lane

// A rows x columns operand (as it is stored) over the threads of a scope.
struct CooperativeShape {
    CooperativeLayout layout;
    int threads;
    int rows, columns;

    constexpr int simdgroups() const { return threads < int(kSimdWidth) ? 1 : threads / int(kSimdWidth); }
    constexpr bool has_fragments() const {
        return threads >= int(kSimdWidth) && rows % kFragment == 0 && columns % kFragment == 0;
    }
    constexpr int fragments_per_simdgroup() const {
        const int fragments = rows * columns / (kFragment * kFragment);
        return (fragments + simdgroups() - 1) / simdgroups();
    }
    // Elements a thread needs, the same for all layouts.
    constexpr int needed() const {
        return has_fragments() ? fragments_per_simdgroup() * kFragmentElements
                               : (rows * columns + threads - 1) / threads;
    }
    // Elements a thread has. kScrambled adds some that stand for nothing.
    constexpr int capacity() const {
        return layout == CooperativeLayout::kScrambled ? needed() + needed() / 8 + 1 : needed();
    }
};

struct Place {
    int row, column;  // an element that stands for nothing is at (rows, columns)
};
Place place_of(const CooperativeShape& shape, int thread, int element);

struct Rectangle {
    int row, column, rows, columns;
};
// What encloses the elements of one simdgroup of the scope.
Rectangle extent_of(const CooperativeShape& shape, int simdgroup);

// Row and column of element 0 of a lane in a fragment; elements 0-3 are neighbours, 4-7 lie 8 rows below.
constexpr Place fragment_place(int lane) {
    const int quad = lane >> 2;
    return {(quad & 4) | ((lane >> 1) & 3), ((quad & 2) | (lane & 1)) * 4};
}

}  // namespace ingot::metal::fibers
