#include "llm/backend/kv_shape.h"

namespace ingot {

Result<void> check_kv_shape(const KvShape& wanted, const KvShape* existing) {
    const kv::FormatTraits& format = kv::traits(wanted.format);
    if (wanted.width() % format.block_size != 0) {
        return fail(ErrorKind::kUnsupported,
                    "layer {} has KV cells of {} elements; {} accepts multiples of {}", wanted.layer.layer,
                    wanted.width(), format.name, format.block_size);
    }
    if (existing == nullptr || *existing == wanted) return {};
    return fail(ErrorKind::kInvalidArgument,
                "layer {} has {} KV cells of {} x {} {}; {} of {} x {} {} are wanted", wanted.layer.layer,
                existing->num_cells, existing->layer.kv_heads, existing->layer.head_dim,
                kv::traits(existing->format).name, wanted.num_cells, wanted.layer.kv_heads,
                wanted.layer.head_dim, format.name);
}

Result<size_t> kv_rows_offset(const KvShape& region, uint32_t first_cell, size_t size_bytes) {
    const size_t row = region.row_bytes(), rows = size_bytes / row;
    if (size_bytes % row == 0 && first_cell <= region.num_cells && rows <= region.num_cells - first_cell)
        return first_cell * row;
    return fail(ErrorKind::kInvalidArgument,
                "{} bytes from cell {} of layer {}, which has {} cells of {} bytes", size_bytes, first_cell,
                region.layer.layer, region.num_cells, row);
}

}  // namespace ingot
