// What one group of a compiled kernel does, counted on the program and its plan: no run, no device. Tiles
// over an edge count whole; a branch counts as its condition says for the first group of the grid.
#pragma once

#include "tile/api/compile.h"

namespace ingot::tile {

#define INGOT_TILE_COUNTS(X)                                                   \
    X(matrix_products, "8x8x8 products of simdgroup matrices")                 \
    X(tensor_products, "matmul2d operations of simdgroups")                    \
    X(fragment_loads, "8x8 matrices loaded by a simdgroup")                    \
    X(threadgroup_bytes_stored, "bytes written to threadgroup memory")         \
    X(threadgroup_bytes_loaded, "bytes read from threadgroup memory")          \
    X(barriers, "meetings of the group")                                       \
    X(device_bytes_read, "bytes read from tensors, as often as they are read") \
    X(device_bytes_written, "bytes written to tensors")

struct Counts {
#define X(name, meaning) int64_t name = 0;
    INGOT_TILE_COUNTS(X)
#undef X

    bool operator==(const Counts&) const = default;
};

// Errors: a dim without a value; a loop whose length depends on what memory holds.
Result<Counts> count(const CompiledKernel& compiled, const std::map<std::string, int64_t>& dims);

}  // namespace ingot::tile
