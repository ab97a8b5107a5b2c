// What kernels get beside their buffers, bound as bytes: twins of the structs of the same names in
// kernels/*.metal.
#pragma once

#include <cstdint>

namespace ingot::mtl {

struct MatMulArgs {
    uint32_t rows, cols, tokens;
    uint32_t row_bytes;
    uint32_t has_bias;
};
struct QkvArgs {
    uint32_t q_rows, kv_rows, cols;
    uint32_t row_bytes;
    uint32_t has_bias;
};
struct FfnArgs {
    uint32_t rows, cols;
    uint32_t row_bytes;
    uint32_t gelu;
};
struct GetRowsArgs {
    uint32_t cols;
    uint32_t row_bytes;
};
struct PermuteArgs {
    uint32_t rows, cols;
    uint32_t strides[3];
};
struct RowArgs {
    uint32_t width;
    float epsilon;
};
struct RopeArgs {
    uint32_t half_dims, heads, head_dim;
    uint32_t interleaved;
};
struct KvStoreArgs {
    uint32_t cell_bytes;
    uint32_t width;
};
struct AttentionArgs {
    uint32_t heads, kv_heads;
    float scale;
    float softcap;
    uint32_t spans_per_token;
    uint32_t cell_bytes;
    uint32_t tokens;
    uint32_t chunks;
};
struct AttentionPassesArgs {
    uint32_t heads, kv_heads;
    float scale;
    float softcap;
    uint32_t spans_per_token;
    uint32_t cell_bytes;
    uint32_t first_cell, cells;
};

}  // namespace ingot::mtl
