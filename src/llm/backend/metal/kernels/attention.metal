// Attention over the KV cache: scaled scores of a query head with the cells that its token sees, online softmax,
// weighted sum of values. Which cells a token sees (causal, sliding, spans, maps) is in `spans`, so all window modes
// are one kernel.

constant uint kHeadDim [[function_constant(0)]];

struct AttentionArgs {
    uint heads, kv_heads;
    float scale;
    float softcap;  // scores become softcap * tanh(score / softcap); 0: off
    uint spans_per_token;
    uint cell_bytes;
    uint tokens;
    uint chunks;  // threadgroups that share a token's cells
};

constant constexpr uint kMaxHeadDim = 256;
constant constexpr uint kMaxParts = kMaxHeadDim / kSimdWidth;

// What a part of the cells has come to: the largest score, the sum of exponentials below it, and the weighted sum.
// Lane l holds elements l, l + 32, ... of the sum.
struct Partial {
    float largest, sum;
    float values[kMaxParts];
};

// Adds the cells [begin, end), at most 32. Lane l scores cell begin + l; `weights` is 32 floats of the simdgroup's own.
// `first` is the head's first element in a cell.
template <typename Kv>
inline void attend_cells(thread Partial& state, threadgroup const float* q, device const uchar* k,
                         device const uchar* v, uint begin, uint end, uint cell_bytes, uint first, float softcap,
                         threadgroup float* weights, uint lane) {
    // Lanes past the end score the last cell and don't count it, so that all stay together.
    const bool mine = begin + lane < end;
    device const uchar* row = k + size_t(min(begin + lane, end - 1)) * cell_bytes;
    float4 products = float4(0.0f);
#pragma unroll(4)
    for (uint i = 0; i < kHeadDim / 4; ++i)
        products += ((threadgroup const float4*)q)[i] * Kv::load4(row, first / 4 + i);
    float score = products.x + products.y + products.z + products.w;
    if (softcap != 0.0f) score = softcap * precise::tanh(score / softcap);
    score = select(kNoScore, score, mine);
    const float largest = max(state.largest, simd_max(score));
    const float weight = mine ? exp(score - largest) : 0.0f;
    const float correction = exp(state.largest - largest);
    state.largest = largest;
    state.sum = state.sum * correction + simd_sum(weight);
    simdgroup_barrier(mem_flags::mem_threadgroup);  // the last block's weights have been read
    weights[lane] = weight;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = 0; p * kSimdWidth < kHeadDim; ++p) {
        const uint d = p * kSimdWidth + lane;
        if (d >= kHeadDim) continue;
        float sum = state.values[p] * correction;
        for (uint j = 0; j < end - begin; ++j)
            sum += weights[j] * Kv::load(v + size_t(begin + j) * cell_bytes, first + d);
        state.values[p] = sum;
    }
}

// Group (head, token, chunk) with kSimds simdgroups, which take blocks of 32 cells in turn. With one chunk `out` is the
// result [tokens, heads, head_dim]; with more it takes partial results, [tokens, heads, chunks, head_dim + 2].
template <typename Kv, uint kSimds>
kernel void attention(device const float* q [[buffer(0)]], device const uchar* k [[buffer(1)]],
                      device const uchar* v [[buffer(2)]], device const uint2* spans [[buffer(3)]],
                      device float* out [[buffer(4)]], constant AttentionArgs& args [[buffer(5)]],
                      uint3 group [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float4 query4[kMaxHeadDim / 4];
    threadgroup float weights[kSimds * kSimdWidth];
    threadgroup float largest_of[kSimds], sum_of[kSimds];
    threadgroup float values_of[kSimds * kMaxHeadDim];
    threadgroup float* query = (threadgroup float*)query4;

    const uint head = group.x, token = group.y, chunk = group.z;
    const size_t query_row = size_t(token) * args.heads + head;
    for (uint d = thread_index; d < kHeadDim; d += kSimds * kSimdWidth)
        query[d] = q[query_row * kHeadDim + d] * args.scale;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint kv_head = head / (args.heads / args.kv_heads);
    Partial state;
    state.largest = kNoScore;
    state.sum = 0.0f;
    for (uint p = 0; p < kMaxParts; ++p) state.values[p] = 0.0f;
    for (uint s = 0; s < args.spans_per_token; ++s) {
        const uint2 span = spans[token * args.spans_per_token + s];
        const uint step = args.chunks * kSimds * kSimdWidth;
        for (uint cell = span.x + (chunk * kSimds + simdgroup) * kSimdWidth; cell < span.y; cell += step) {
            attend_cells<Kv>(state, query, k, v, cell, min(cell + kSimdWidth, span.y), args.cell_bytes,
                             kv_head * kHeadDim, args.softcap, weights + simdgroup * kSimdWidth, lane);
        }
    }

    if (lane == 0) {
        largest_of[simdgroup] = state.largest;
        sum_of[simdgroup] = state.sum;
    }
    for (uint p = 0; p * kSimdWidth < kHeadDim; ++p) {
        const uint d = p * kSimdWidth + lane;
        if (d < kHeadDim) values_of[simdgroup * kMaxHeadDim + d] = state.values[p];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float largest = kNoScore, sum = 0.0f;
    for (uint s = 0; s < kSimds; ++s) largest = max(largest, largest_of[s]);
    for (uint s = 0; s < kSimds; ++s) sum += sum_of[s] * exp(largest_of[s] - largest);
    const bool whole = args.chunks == 1;
    device float* to = whole ? out + query_row * kHeadDim
                             : out + (query_row * args.chunks + chunk) * (kHeadDim + 2);
    for (uint d = thread_index; d < kHeadDim; d += kSimds * kSimdWidth) {
        float value = 0.0f;
        for (uint s = 0; s < kSimds; ++s) value += values_of[s * kMaxHeadDim + d] * exp(largest_of[s] - largest);
        to[d] = whole ? value / sum : value;
    }
    if (!whole && thread_index == 0) {
        to[kHeadDim] = largest;
        to[kHeadDim + 1] = sum;
    }
}

typedef decltype(attention<KvF32, 4>) attention_t;
#define INSTANTIATE(name, Kv)                                                                  \
    template [[host_name("attention_decode_" name)]] kernel attention_t attention<Kv, 4>;      \
    template [[host_name("attention_classic_" name)]] kernel attention_t attention<Kv, 1>;
FOR_EACH_KV_FORMAT(INSTANTIATE)
#undef INSTANTIATE

// Group (head, token): joins the partial results of a token's chunks.
kernel void attention_combine(device const float* partials [[buffer(0)]], device float* out [[buffer(1)]],
                              constant AttentionArgs& args [[buffer(2)]],
                              uint2 group [[threadgroup_position_in_grid]],
                              uint thread_index [[thread_index_in_threadgroup]],
                              uint threads [[threads_per_threadgroup]]) {
    const size_t row = size_t(group.y) * args.heads + group.x;
    device const float* from = partials + row * args.chunks * (kHeadDim + 2);
    float largest = kNoScore, sum = 0.0f;
    for (uint c = 0; c < args.chunks; ++c) largest = max(largest, from[c * (kHeadDim + 2) + kHeadDim]);
    for (uint c = 0; c < args.chunks; ++c) {
        device const float* chunk = from + c * (kHeadDim + 2) + kHeadDim;
        sum += chunk[1] * exp(chunk[0] - largest);
    }
    for (uint d = thread_index; d < kHeadDim; d += threads) {
        float value = 0.0f;
        for (uint c = 0; c < args.chunks; ++c) {
            device const float* chunk = from + c * (kHeadDim + 2);
            value += chunk[d] * exp(chunk[kHeadDim] - largest);
        }
        out[row * kHeadDim + d] = value / sum;
    }
}
