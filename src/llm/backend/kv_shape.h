// What regions of KV cells have in common on all backends: their shape, what is refused when one is asked
// for, and where rows lie. The memory is the backend's.
#pragma once

#include "llm/backend/backend.h"

namespace ingot {

// K and V of one layer, [cells, kv_heads, head_dim] each.
struct KvShape {
    KvLayer layer;
    kv::Format format = kv::Format::kF32;
    uint32_t num_cells = 0;
    bool operator==(const KvShape&) const = default;

    uint32_t width() const { return layer.kv_heads * layer.head_dim; }
    size_t row_bytes() const { return kv::row_bytes(format, width()); }
    size_t size_bytes() const { return row_bytes() * num_cells; }  // of one side
};

// An Error if rows can't be stored so, or if the region that exists (null: none) has another shape.
Result<void> check_kv_shape(const KvShape& wanted, const KvShape* existing);
// Where `size_bytes` of rows from `first_cell` on lie in a side.
Result<size_t> kv_rows_offset(const KvShape& region, uint32_t first_cell, size_t size_bytes);

}  // namespace ingot
