// Products of a weight [rows, cols] and activations [tokens, cols] -> [tokens, rows], by dot products: a simdgroup
// takes kRows rows and kTokens tokens, its lanes take units of the rows (formats.metal). Weights are decoded once for
// all of these tokens. Rows and tokens past the end are computed as the last ones and not stored.

struct MatMulArgs {
    uint rows, cols, tokens;
    uint row_bytes;
    uint has_bias;
};

constant constexpr uint kSimdgroups = 2;

// Where kCount rows start.
template <typename T, uint kCount>
struct RowStarts {
    device const T* at[kCount];
};

// Adds what one unit of the rows contributes; nothing if it isn't `inside`.
template <typename Format, uint kRows, uint kTokens>
inline void dot_unit(thread const RowStarts<uchar, kRows>& rows, thread const RowStarts<float4, kTokens>& tokens,
                     uint unit, bool inside, thread float (&sums)[kRows * kTokens]) {
    float4 activations[kTokens][Format::kVectors];
    for (uint t = 0; t < kTokens; ++t)
        for (uint v = 0; v < Format::kVectors; ++v) activations[t][v] = Format::x(tokens.at[t], unit, v);
    for (uint r = 0; r < kRows; ++r) {
        float4 w[Format::kVectors];
        Format::load(rows.at[r], unit, w);
        for (uint t = 0; t < kTokens; ++t) {
            float4 products = w[0] * activations[t][0];
            for (uint v = 1; v < Format::kVectors; ++v) products += w[v] * activations[t][v];
            // No branch, or the compiler moves the loads into it.
            sums[t * kRows + r] += select(0.0f, products.x + products.y + products.z + products.w, inside);
        }
    }
}

// Row r for token t at sums[t * kRows + r], complete in every lane.
template <typename Format, uint kRows, uint kTokens>
inline void dot_rows(device const uchar* matrix, uint row_bytes, uint cols, uint first_row, uint last_row,
                     device const float* x, uint first_token, uint last_token, uint lane,
                     thread float (&sums)[kRows * kTokens]) {
    RowStarts<uchar, kRows> rows;
    for (uint r = 0; r < kRows; ++r) rows.at[r] = matrix + size_t(min(first_row + r, last_row)) * row_bytes;
    RowStarts<float4, kTokens> tokens;
    for (uint t = 0; t < kTokens; ++t)
        tokens.at[t] = (device const float4*)(x + size_t(min(first_token + t, last_token)) * cols);
    for (uint i = 0; i < kRows * kTokens; ++i) sums[i] = 0.0f;

    // All lanes stay together. What is left at the end of a row is read as part of its last whole round, most lanes of
    // which have been counted; a row too short for that has lanes that repeat its last unit.
    constexpr uint kLanes = Format::kBlock / (4 * Format::kVectors), kRound = kSimdWidth / kLanes;  // blocks
    const uint blocks = cols / Format::kBlock, rest = blocks % kRound;
    for (uint block = 0; block + kRound <= blocks; block += kRound)
        dot_unit<Format, kRows, kTokens>(rows, tokens, block * kLanes + lane, true, sums);
    if (rest != 0 && blocks > kRound) {
        dot_unit<Format, kRows, kTokens>(rows, tokens, (blocks - kRound) * kLanes + lane,
                                         lane >= (kRound - rest) * kLanes, sums);
    } else if (rest != 0) {
        dot_unit<Format, kRows, kTokens>(rows, tokens, min(lane, blocks * kLanes - 1), lane < blocks * kLanes, sums);
    }
    // Four at a time: a reduction costs its latency once.
    for (uint i = 0; i < kRows * kTokens; i += 4) {
        const float4 four = simd_sum(float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]));
        sums[i] = four.x;
        sums[i + 1] = four.y;
        sums[i + 2] = four.z;
        sums[i + 3] = four.w;
    }
}

// Group (i, j): rows from i * kSimdgroups * kRows on, tokens from j * kTokens on.
template <typename Format, uint kRows, uint kTokens>
kernel void mat_mul(device const uchar* matrix [[buffer(0)]], device const float* x [[buffer(1)]],
                    device const float* bias [[buffer(2)]], device float* y [[buffer(3)]],
                    constant MatMulArgs& args [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    const uint first_row = (group.x * kSimdgroups + simdgroup) * kRows, first_token = group.y * kTokens;
    float sums[kRows * kTokens];
    dot_rows<Format, kRows, kTokens>(matrix, args.row_bytes, args.cols, first_row, args.rows - 1, x, first_token,
                                     args.tokens - 1, lane, sums);
    for (uint i = 0; i < kRows * kTokens; ++i) {
        const uint row = first_row + i % kRows, token = first_token + i / kRows;
        if (lane == i && row < args.rows && token < args.tokens)
            y[size_t(token) * args.rows + row] = args.has_bias ? sums[i] + bias[row] : sums[i];
    }
}

typedef decltype(mat_mul<F32, 4, 1>) mat_mul_t;
#define INSTANTIATE(name, Format)                                                                \
    template [[host_name("mat_mul_one_" name)]] kernel mat_mul_t mat_mul<Format, 4, 1>;          \
    template [[host_name("mat_mul_multi_" name)]] kernel mat_mul_t mat_mul<Format, 2, 4>;
FOR_EACH_FORMAT(INSTANTIATE)
#undef INSTANTIATE

// Three products of one token by weights of one format, as one grid: rows of q, then of k, then of v.
struct QkvArgs {
    uint q_rows, kv_rows, cols;
    uint row_bytes;
    uint has_bias;
};

template <typename Format>
kernel void qkv(device const uchar* wq [[buffer(0)]], device const uchar* wk [[buffer(1)]],
                device const uchar* wv [[buffer(2)]], device const float* x [[buffer(3)]],
                device const float* bq [[buffer(4)]], device const float* bk [[buffer(5)]],
                device const float* bv [[buffer(6)]], device float* q [[buffer(7)]], device float* k [[buffer(8)]],
                device float* v [[buffer(9)]], constant QkvArgs& args [[buffer(10)]],
                uint group [[threadgroup_position_in_grid]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint kRows = 4;
    // Whole simdgroups belong to one of the three; one past the last is past v's rows, and stores nothing.
    const uint q_tiles = (args.q_rows + kRows - 1) / kRows, kv_tiles = (args.kv_rows + kRows - 1) / kRows;
    const uint tile = group * kSimdgroups + simdgroup;
    const bool is_q = tile < q_tiles, is_k = !is_q && tile < q_tiles + kv_tiles;
    device const uchar* matrix = is_q ? wq : is_k ? wk : wv;
    device const float* bias = is_q ? bq : is_k ? bk : bv;
    device float* y = is_q ? q : is_k ? k : v;
    const uint first_row = (is_q ? tile : is_k ? tile - q_tiles : tile - q_tiles - kv_tiles) * kRows;
    const uint rows = is_q ? args.q_rows : args.kv_rows;
    float sums[kRows];
    dot_rows<Format, kRows, 1>(matrix, args.row_bytes, args.cols, first_row, rows - 1, x, 0, 0, lane, sums);
    for (uint i = 0; i < kRows; ++i) {
        if (lane == i && first_row + i < rows)
            y[first_row + i] = args.has_bias ? sums[i] + bias[first_row + i] : sums[i];
    }
}

typedef decltype(qkv<F32>) qkv_t;
#define INSTANTIATE(name, Format) template [[host_name("qkv_one_" name)]] kernel qkv_t qkv<Format>;
FOR_EACH_FORMAT(INSTANTIATE)
#undef INSTANTIATE

// activation(gate x) * (up x) of one token, by weights of one format.
struct FfnArgs {
    uint rows, cols;
    uint row_bytes;
    uint gelu;
};

template <typename Format>
kernel void ffn(device const uchar* gate [[buffer(0)]], device const uchar* up [[buffer(1)]],
                device const float* x [[buffer(2)]], device float* y [[buffer(3)]],
                constant FfnArgs& args [[buffer(4)]], uint group [[threadgroup_position_in_grid]],
                uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint kRows = 4;
    const uint first_row = (group * kSimdgroups + simdgroup) * kRows;
    float gates[kRows], ups[kRows];
    dot_rows<Format, kRows, 1>(gate, args.row_bytes, args.cols, first_row, args.rows - 1, x, 0, 0, lane, gates);
    dot_rows<Format, kRows, 1>(up, args.row_bytes, args.cols, first_row, args.rows - 1, x, 0, 0, lane, ups);
    // One lane a row, so that the activation is computed as the unfused kernels do.
    float my_gate = gates[0], my_up = ups[0];
    for (uint i = 1; i < kRows; ++i) {
        my_gate = lane == i ? gates[i] : my_gate;
        my_up = lane == i ? ups[i] : my_up;
    }
    if (lane < kRows && first_row + lane < args.rows)
        y[first_row + lane] = (args.gelu ? gelu_of(my_gate) : silu_of(my_gate)) * my_up;
}

typedef decltype(ffn<F32>) ffn_t;
#define INSTANTIATE(name, Format) template [[host_name("ffn_one_" name)]] kernel ffn_t ffn<Format>;
FOR_EACH_FORMAT(INSTANTIATE)
#undef INSTANTIATE
