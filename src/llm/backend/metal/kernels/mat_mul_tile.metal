// Products of a quantized weight [rows, cols] (of floats: mat_mul_floats.tile) and activations [tokens, cols] -> [tokens, rows] on the matrix units, for prompts:
// a threadgroup of four simdgroups makes a tile of 64 rows by 32 tokens, 32 elements of the rows at a time. Both
// operands are staged in threadgroup memory as float. Within a step elements lie in the order in which the format's
// units yield them, on both sides, so that every unit belongs to one step.

struct MatMulArgs {
    uint rows, cols, tokens;
    uint row_bytes;
    uint has_bias;
};

constant constexpr uint kTileRows = 64, kTileTokens = 32, kStep = 32, kThreads = 128;
constant constexpr uint kStepVectors = kStep / 4;

template <typename Format>
kernel void mat_mul_tile(device const uchar* matrix [[buffer(0)]], device const float* x [[buffer(1)]],
                         device const float* bias [[buffer(2)]], device float* y [[buffer(3)]],
                         constant MatMulArgs& args [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    // [rows][kStep], in the end [tokens][rows] of the result.
    threadgroup float4 staged_weights[kTileRows * kStepVectors];
    threadgroup float4 staged_x[kTileTokens * kStepVectors];  // [tokens][kStep]
    constexpr uint kUnits = kStepVectors / Format::kVectors;  // of a row in a step

    const uint first_row = group.x * kTileRows, first_token = group.y * kTileTokens;
    const uint units = args.cols / (4 * Format::kVectors);
    // Each simdgroup makes a quarter of the tile: 32 rows by 16 tokens.
    const uint row_part = simdgroup % 2 * 32, token_part = simdgroup / 2 * 16;
    simdgroup_float8x8 sums[2][4];
    for (uint t = 0; t < 2; ++t)
        for (uint r = 0; r < 4; ++r) sums[t][r] = make_filled_simdgroup_matrix<float, 8>(0.0f);

    for (uint first_unit = 0; first_unit < units; first_unit += kUnits) {
        for (uint i = thread_index; i < kTileRows * kUnits; i += kThreads) {
            const uint row = i / kUnits, unit = first_unit + i % kUnits;
            float4 w[Format::kVectors];
            for (uint v = 0; v < Format::kVectors; ++v) w[v] = float4(0.0f);
            if (unit < units)
                Format::load(matrix + size_t(min(first_row + row, args.rows - 1)) * args.row_bytes, unit, w);
            for (uint v = 0; v < Format::kVectors; ++v)
                staged_weights[row * kStepVectors + i % kUnits * Format::kVectors + v] = w[v];
        }
        for (uint i = thread_index; i < kTileTokens * kStepVectors; i += kThreads) {
            const uint token = first_token + i / kStepVectors;
            const uint unit = first_unit + i % kStepVectors / Format::kVectors;
            const bool inside = token < args.tokens && unit < units;
            device const float4* row = (device const float4*)(x + size_t(inside ? token : 0) * args.cols);
            staged_x[i] = inside ? Format::x(row, unit, i % Format::kVectors) : float4(0.0f);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup const float* weights = (threadgroup const float*)staged_weights + row_part * kStep;
        threadgroup const float* activations = (threadgroup const float*)staged_x + token_part * kStep;
        for (uint k = 0; k < kStep; k += 8) {
            simdgroup_float8x8 a[2], b[4];
            for (uint t = 0; t < 2; ++t) simdgroup_load(a[t], activations + t * 8 * kStep + k, kStep);
            for (uint r = 0; r < 4; ++r)
                simdgroup_load(b[r], weights + r * 8 * kStep + k, kStep, ulong2(0), true);
            for (uint t = 0; t < 2; ++t)
                for (uint r = 0; r < 4; ++r) simdgroup_multiply_accumulate(sums[t][r], a[t], b[r], sums[t][r]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    threadgroup float* result = (threadgroup float*)staged_weights;
    for (uint t = 0; t < 2; ++t)
        for (uint r = 0; r < 4; ++r)
            simdgroup_store(sums[t][r], result + (token_part + t * 8) * kTileRows + row_part + r * 8, kTileRows);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = thread_index; i < kTileRows * kTileTokens; i += kThreads) {
        const uint row = first_row + i % kTileRows, token = first_token + i / kTileRows;
        if (row < args.rows && token < args.tokens)
            y[size_t(token) * args.rows + row] = args.has_bias ? result[i] + bias[row] : result[i];
    }
}

typedef decltype(mat_mul_tile<Q4_0>) mat_mul_tile_t;
#define INSTANTIATE(name, Format) \
    template [[host_name("mat_mul_tile_" name)]] kernel mat_mul_tile_t mat_mul_tile<Format>;
FOR_EACH_QUANTIZED_FORMAT(INSTANTIATE)
#undef INSTANTIATE
