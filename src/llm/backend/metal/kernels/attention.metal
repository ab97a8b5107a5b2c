// Attention over the KV cache: scaled scores of a query head with the cells that its token sees, online softmax,
// weighted sum of values. Which cells a token sees (causal, sliding, spans, maps) is in `spans`, so all window modes
// are one kernel.

constant uint kHeadDim [[function_constant(0)]];
// Query heads that a simdgroup takes together: they belong to one KV head, so each key and value is read once for all.
constant uint kHeads [[function_constant(1)]];

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
constant constexpr uint kMaxHeads = 4;

// What a part of the cells has come to for a head: the largest score, the sum of exponentials below it, and the weighted
// sum. Lane l holds elements l, l + 32, ... of the sum.
struct Partial {
    float largest, sum;
    float values[kMaxParts];
};

// Adds the cells [begin, end), at most 32, to each head's. Lane l scores cell begin + l; `q` is [heads][kHeadDim],
// `weights` [heads][32] of the simdgroup's own. `first` is the KV head's first element in a cell.
template <typename Kv>
inline void attend_cells(thread Partial* states, threadgroup const float* q, device const uchar* k,
                         device const uchar* v, uint begin, uint end, uint cell_bytes, uint first, float softcap,
                         threadgroup float* weights, uint lane) {
    // Lanes past the end score the last cell and don't count it, so that all stay together.
    const bool mine = begin + lane < end;
    device const uchar* row = k + size_t(min(begin + lane, end - 1)) * cell_bytes;
    float4 products[kMaxHeads];
    for (uint h = 0; h < kHeads; ++h) products[h] = float4(0.0f);
#pragma unroll(4)
    for (uint i = 0; i < kHeadDim / 4; ++i) {
        const float4 key = Kv::load4(row, first / 4 + i);
        for (uint h = 0; h < kHeads; ++h) products[h] += ((threadgroup const float4*)(q + h * kHeadDim))[i] * key;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);  // the last block's weights have been read
    float corrections[kMaxHeads];
    for (uint h = 0; h < kHeads; ++h) {
        thread Partial& state = states[h];
        float score = products[h].x + products[h].y + products[h].z + products[h].w;
        if (softcap != 0.0f) score = softcap * precise::tanh(score / softcap);
        score = select(kNoScore, score, mine);
        const float largest = max(state.largest, simd_max(score));
        const float weight = mine ? exp(score - largest) : 0.0f;
        corrections[h] = exp(state.largest - largest);
        state.largest = largest;
        state.sum = state.sum * corrections[h] + simd_sum(weight);
        weights[h * kSimdWidth + lane] = weight;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = 0; p * kSimdWidth < kHeadDim; ++p) {
        const uint d = p * kSimdWidth + lane;
        if (d >= kHeadDim) continue;
        float sums[kMaxHeads];
        for (uint h = 0; h < kHeads; ++h) sums[h] = states[h].values[p] * corrections[h];
        for (uint j = 0; j < end - begin; ++j) {
            const float value = Kv::load(v + size_t(begin + j) * cell_bytes, first + d);
            for (uint h = 0; h < kHeads; ++h) sums[h] += weights[h * kSimdWidth + j] * value;
        }
        for (uint h = 0; h < kHeads; ++h) states[h].values[p] = sums[h];
    }
}

// Group (i, token, chunk) takes the heads from kHeads * i on, with kSimds simdgroups, which take blocks of 32 cells in turn.
// With one chunk `out` is the result [tokens, heads, head_dim]; with more it takes partial results, [tokens, heads, chunks, head_dim + 2].
template <typename Kv, uint kSimds>
kernel void attention(device const float* q [[buffer(0)]], device const uchar* k [[buffer(1)]],
                      device const uchar* v [[buffer(2)]], device const uint2* spans [[buffer(3)]],
                      device float* out [[buffer(4)]], constant AttentionArgs& args [[buffer(5)]],
                      uint3 group [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float4 queries4[kMaxHeads * kMaxHeadDim / 4];
    threadgroup float weights[kSimds * kMaxHeads * kSimdWidth];
    threadgroup float largest_of[kSimds], sum_of[kSimds];
    threadgroup float values_of[kSimds * kMaxHeadDim];
    threadgroup float* queries = (threadgroup float*)queries4;

    const uint first_head = group.x * kHeads, token = group.y, chunk = group.z;
    const size_t first_row = size_t(token) * args.heads + first_head;
    for (uint i = thread_index; i < kHeads * kHeadDim; i += kSimds * kSimdWidth)
        queries[i] = q[first_row * kHeadDim + i] * args.scale;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint kv_head = first_head / (args.heads / args.kv_heads);
    Partial states[kMaxHeads];
    for (uint h = 0; h < kHeads; ++h) {
        states[h].largest = kNoScore;
        states[h].sum = 0.0f;
        for (uint p = 0; p < kMaxParts; ++p) states[h].values[p] = 0.0f;
    }
    for (uint s = 0; s < args.spans_per_token; ++s) {
        const uint2 span = spans[token * args.spans_per_token + s];
        const uint step = args.chunks * kSimds * kSimdWidth;
        for (uint cell = span.x + (chunk * kSimds + simdgroup) * kSimdWidth; cell < span.y; cell += step) {
            attend_cells<Kv>(states, queries, k, v, cell, min(cell + kSimdWidth, span.y), args.cell_bytes,
                             kv_head * kHeadDim, args.softcap, weights + simdgroup * kMaxHeads * kSimdWidth, lane);
        }
    }

    const bool whole = args.chunks == 1;
    for (uint h = 0; h < kHeads; ++h) {
        if (lane == 0) {
            largest_of[simdgroup] = states[h].largest;
            sum_of[simdgroup] = states[h].sum;
        }
        for (uint p = 0; p * kSimdWidth < kHeadDim; ++p) {
            const uint d = p * kSimdWidth + lane;
            if (d < kHeadDim) values_of[simdgroup * kMaxHeadDim + d] = states[h].values[p];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float largest = kNoScore, sum = 0.0f;
        for (uint s = 0; s < kSimds; ++s) largest = max(largest, largest_of[s]);
        for (uint s = 0; s < kSimds; ++s) sum += sum_of[s] * exp(largest_of[s] - largest);
        device float* to = whole ? out + (first_row + h) * kHeadDim
                                 : out + ((first_row + h) * args.chunks + chunk) * (kHeadDim + 2);
        for (uint d = thread_index; d < kHeadDim; d += kSimds * kSimdWidth) {
            float value = 0.0f;
            for (uint s = 0; s < kSimds; ++s) value += values_of[s * kMaxHeadDim + d] * exp(largest_of[s] - largest);
            to[d] = whole ? value / sum : value;
        }
        if (!whole && thread_index == 0) {
            to[kHeadDim] = largest;
            to[kHeadDim + 1] = sum;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // the next head's take the place of these
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
