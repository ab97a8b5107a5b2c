// Attention of prompts on the matrix units: a simdgroup takes a tile of 8 tokens of a head, and the four simdgroups of
// a threadgroup share the keys and values of one KV head, which are staged as float, 64 cells by 32 elements at a time.
// So each is read and decoded once for 32 rows of queries. Which cells a token sees is in `spans`, as in
// attention.metal; blocks that none of the rows sees are skipped.

constant uint kHeadDim [[function_constant(0)]];

struct AttentionArgs {
    uint heads, kv_heads;
    float scale;
    float softcap;  // scores become softcap * tanh(score / softcap); 0: off
    uint spans_per_token;
    uint cell_bytes;
    uint tokens;
    uint chunks;  // unused
};

constant constexpr uint kMaxHeadDim = 256;
constant constexpr uint kTileRows = 8, kTiles = 4, kThreads = kTiles * kSimdWidth;
constant constexpr uint kBlock = 64;  // cells
constant constexpr uint kSlice = 32;  // elements of a head
constant constexpr uint kSliceVectors = kSlice / 4;
constant constexpr float kHeadroom = 8.0f;  // e^8 times as many as there are cells are far from overflowing

// A row of the threadgroup: a token and one of its heads. Rows past the last token are computed and not stored.
struct Row {
    uint token, head;
};
inline Row row_of(uint row, uint first_tile, uint kv_head, constant AttentionArgs& args) {
    const uint heads = args.heads / args.kv_heads, tile = first_tile + row / kTileRows;
    Row made;
    made.token = tile / heads * kTileRows + row % kTileRows;
    made.head = kv_head * heads + tile % heads;
    return made;
}

inline bool sees(device const uint2* spans, uint count, uint cell) {
    bool seen = false;
    for (uint s = 0; s < count; ++s) seen |= cell >= spans[s].x && cell < spans[s].y;
    return seen;
}

// Whether one span holds all cells [begin, end), so that none needs to be looked up.
inline bool sees_all(device const uint2* spans, uint count, uint begin, uint end) {
    bool seen = false;
    for (uint s = 0; s < count; ++s) seen |= begin >= spans[s].x && end <= spans[s].y;
    return seen;
}

// Cells [begin, end) of a head's slice, zeros behind them and behind the head.
template <typename Kv>
inline float4 staged_vector(device const uchar* cells, uint begin, uint end, uint cell_bytes, uint first, uint slice,
                            uint i) {
    const uint cell = begin + i / kSliceVectors, vector = slice * kSliceVectors + i % kSliceVectors;
    return cell < end && vector < kHeadDim / 4 ? Kv::load4(cells + size_t(cell) * cell_bytes, first / 4 + vector)
                                               : float4(0.0f);
}

template <typename Kv>
inline void stage_keys(threadgroup float4* staged, device const uchar* cells, uint begin, uint end, uint cell_bytes,
                       uint first, uint slice, uint thread_index) {
    for (uint i = thread_index; i < kBlock * kSliceVectors; i += kThreads)
        staged[i] = staged_vector<Kv>(cells, begin, end, cell_bytes, first, slice, i);
}

// A value that is infinite or no number would reach rows that don't see its cell, as 0 times itself. It is staged as
// 0, and its cell is marked.
template <typename Kv>
inline void stage_values(threadgroup float4* staged, threadgroup atomic_uint* broken, device const uchar* cells,
                         uint begin, uint end, uint cell_bytes, uint first, uint slice, uint thread_index) {
    constexpr uint kExponent = 0x7f800000;
    for (uint i = thread_index; i < kBlock * kSliceVectors; i += kThreads) {
        const float4 value = staged_vector<Kv>(cells, begin, end, cell_bytes, first, slice, i);
        const bool4 bad = (as_type<uint4>(value) & kExponent) == kExponent;
        if (any(bad)) atomic_store_explicit(&broken[i / kSliceVectors], 1u, memory_order_relaxed);
        staged[i] = select(value, float4(0.0f), bad);
    }
}

// The factors of the rows as a diagonal matrix; lanes 4 r to 4 r + 3 hold row r's. Between two calls there is a barrier.
inline simdgroup_float8x8 diagonal(float factor, threadgroup float* scratch, uint lane) {
    const uint column = lane % 4 * 2, row = lane / 4;
    scratch[row * 8 + column] = row == column ? factor : 0.0f;
    scratch[row * 8 + column + 1] = row == column + 1 ? factor : 0.0f;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 made;
    simdgroup_load(made, scratch, 8);
    return made;
}

inline float max_of_row(float value) {
    value = max(value, simd_shuffle_xor(value, 1));
    return max(value, simd_shuffle_xor(value, 2));
}
inline float sum_of_row(float value) {
    value += simd_shuffle_xor(value, 1);
    return value + simd_shuffle_xor(value, 2);
}

// Group (i, kv_head): tiles from 4 i on, the heads of a group of tokens next to each other.
template <typename Kv>
kernel void attention_tile(device const float* q [[buffer(0)]], device const uchar* k [[buffer(1)]],
                           device const uchar* v [[buffer(2)]], device const uint2* spans [[buffer(3)]],
                           device float* out [[buffer(4)]], constant AttentionArgs& args [[buffer(5)]],
                           uint2 group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_index_in_threadgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float4 staged4[kBlock * kSliceVectors];                 // [cells][slice]
    threadgroup float4 queries4[kTiles * kTileRows * kSliceVectors];    // [rows][slice]
    threadgroup float scores_of[kTiles * kTileRows * kBlock];           // a simdgroup's own [rows][cells]
    threadgroup float diagonals[kTiles * 64];
    threadgroup atomic_uint broken[kBlock];  // cells with a value that isn't finite
    threadgroup const float* staged = (threadgroup const float*)staged4;
    threadgroup const float* queries = (threadgroup const float*)queries4 + simdgroup * kTileRows * kSlice;
    threadgroup float* scores = scores_of + simdgroup * kTileRows * kBlock;
    threadgroup float* scratch = diagonals + simdgroup * 64;

    const uint first_tile = group.x * kTiles, kv_head = group.y, first = kv_head * kHeadDim;
    const uint slices = (kHeadDim + kSlice - 1) / kSlice, count = args.spans_per_token;
    // Lane l looks at row l of the threadgroup, so all simdgroups come to the same range.
    const uint seen_token = row_of(lane, first_tile, kv_head, args).token;
    device const uint2* seen_spans = spans + min(seen_token, args.tokens - 1) * count;
    uint low = ~0u, high = 0;
    for (uint s = 0; s < count; ++s) {
        if (seen_spans[s].x >= seen_spans[s].y) continue;
        low = min(low, seen_spans[s].x);
        high = max(high, seen_spans[s].y);
    }
    low = simd_min(low);
    high = simd_max(high);

    const uint my_row = lane / 4;  // of the simdgroup's tile
    const uint my_token = row_of(simdgroup * kTileRows + my_row, first_tile, kv_head, args).token;
    device const uint2* my_spans = spans + min(my_token, args.tokens - 1) * count;
    float largest = kNoScore, sum = 0.0f;
    bool has_result = false;
    bool sees_broken = false;  // this lane's cells of its row
    simdgroup_float8x8 result[kMaxHeadDim / 8];
    for (uint i = 0; i < slices * 4; ++i) result[i] = make_filled_simdgroup_matrix<float, 8>(0.0f);

    for (uint begin = low; begin < high; begin += kBlock) {
        const uint end = min(begin + kBlock, high);
        bool any = false;
        for (uint s = 0; s < count; ++s) any |= seen_spans[s].x < end && seen_spans[s].y > begin;
        if (!simd_any(any)) continue;

        simdgroup_float8x8 products[kBlock / 8];
        for (uint c = 0; c < kBlock / 8; ++c) products[c] = make_filled_simdgroup_matrix<float, 8>(0.0f);
        for (uint slice = 0; slice < slices; ++slice) {
            stage_keys<Kv>(staged4, k, begin, end, args.cell_bytes, first, slice, thread_index);
            for (uint i = thread_index; i < kTiles * kTileRows * kSliceVectors; i += kThreads) {
                const Row row = row_of(i / kSliceVectors, first_tile, kv_head, args);
                const uint vector = slice * kSliceVectors + i % kSliceVectors;
                const bool inside = row.token < args.tokens && vector < kHeadDim / 4;
                device const float4* from =
                    (device const float4*)(q + (size_t(inside ? row.token : 0) * args.heads + row.head) * kHeadDim);
                queries4[i] = inside ? from[vector] : float4(0.0f);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            if (slice == 0 && thread_index < kBlock)
                atomic_store_explicit(&broken[thread_index], 0u, memory_order_relaxed);
            for (uint i = 0; i < kSlice; i += 8) {
                simdgroup_float8x8 rows;
                simdgroup_load(rows, queries + i, kSlice);
                for (uint c = 0; c < kBlock / 8; ++c) {
                    simdgroup_float8x8 keys;
                    simdgroup_load(keys, staged + c * 8 * kSlice + i, kSlice, ulong2(0), true);
                    simdgroup_multiply_accumulate(products[c], rows, keys, products[c]);
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        for (uint c = 0; c < kBlock / 8; ++c) simdgroup_store(products[c], scores + c * 8, kBlock);
        simdgroup_barrier(mem_flags::mem_threadgroup);

        // Four lanes a row, each with every fourth cell.
        float mine[kBlock / 4];
        float block_largest = kNoScore;
        const bool whole = simd_all(sees_all(my_spans, count, begin, begin + kBlock));
        for (uint i = 0; i < kBlock / 4; ++i) {
            const uint cell = lane % 4 + 4 * i;
            float score = scores[my_row * kBlock + cell] * args.scale;
            if (args.softcap != 0.0f) score = args.softcap * precise::tanh(score / args.softcap);
            mine[i] = whole || sees(my_spans, count, begin + cell) ? score : kNoScore;
            block_largest = max(block_largest, mine[i]);
        }
        // Weights are relative to `largest`, which follows the scores only when they outgrow it: then the result so far
        // is multiplied by a diagonal matrix, a product for each of its matrices.
        const float top = max_of_row(block_largest);
        const bool outgrown = top > largest + kHeadroom;
        const float correction = outgrown ? exp(largest - top) : 1.0f;
        if (outgrown) largest = top;
        float block_sum = 0.0f;
        for (uint i = 0; i < kBlock / 4; ++i) {
            const float weight = mine[i] == kNoScore ? 0.0f : exp(mine[i] - largest);
            scores[my_row * kBlock + lane % 4 + 4 * i] = weight;
            block_sum += weight;
        }
        sum = sum * correction + sum_of_row(block_sum);
        if (has_result && simd_any(outgrown)) {
            const simdgroup_float8x8 corrections = diagonal(correction, scratch, lane);
            for (uint i = 0; i < slices * 4; ++i) simdgroup_multiply(result[i], corrections, result[i]);
        }
        has_result = true;

        for (uint slice = 0; slice < slices; ++slice) {
            stage_values<Kv>(staged4, broken, v, begin, end, args.cell_bytes, first, slice, thread_index);
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint c = 0; c < kBlock; c += 8) {
                simdgroup_float8x8 weights;
                simdgroup_load(weights, scores + c, kBlock);
                for (uint i = 0; i < 4; ++i) {
                    simdgroup_float8x8 values;
                    simdgroup_load(values, staged + c * kSlice + i * 8, kSlice);
                    simdgroup_multiply_accumulate(result[slice * 4 + i], weights, values, result[slice * 4 + i]);
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        for (uint cell = lane % 4; cell < kBlock; cell += 4) {
            const bool is_broken = atomic_load_explicit(&broken[cell], memory_order_relaxed) != 0;
            sees_broken |= is_broken && scores[my_row * kBlock + cell] != 0.0f;
        }
    }

    const bool lost = max_of_row(sees_broken ? 1.0f : 0.0f) != 0.0f;
    const float inverse = lost ? as_type<float>(0x7fc00000) : 1.0f / sum;  // no number
    const Row row = row_of(simdgroup * kTileRows + my_row, first_tile, kv_head, args);
    for (uint slice = 0; slice < slices; ++slice) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 4; ++i) simdgroup_store(result[slice * 4 + i], scores + i * 8, kBlock);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = lane % 4; i < kSlice; i += 4) {
            const uint element = slice * kSlice + i;
            if (row.token < args.tokens && element < kHeadDim)
                out[(size_t(row.token) * args.heads + row.head) * kHeadDim + element] =
                    scores[my_row * kBlock + i] * inverse;
        }
    }
}

typedef decltype(attention_tile<KvF32>) attention_tile_t;
#define INSTANTIATE(name, Kv) \
    template [[host_name("attention_tile_" name)]] kernel attention_tile_t attention_tile<Kv>;
FOR_EACH_KV_FORMAT(INSTANTIATE)
#undef INSTANTIATE
