// Attention of prompts in three passes, with the scores in memory between them: the plainest form, beside which the
// others are measured. Which cells a token sees is in `spans`, as in attention.metal. Scores and weights are
// [tokens, heads, cells], of the cells from first_cell on.

constant uint kHeadDim [[function_constant(0)]];

struct AttentionPassesArgs {
    uint heads, kv_heads;
    float scale;
    float softcap;  // scores become softcap * tanh(score / softcap); 0: off
    uint spans_per_token;
    uint cell_bytes;
    uint first_cell, cells;
};

// Group (block, head, token): lane l scores cell 32 block + l.
template <typename Kv>
kernel void attention_scores(device const float4* q [[buffer(0)]], device const uchar* k [[buffer(1)]],
                             device const uint2* spans [[buffer(2)]], device float* scores [[buffer(3)]],
                             constant AttentionPassesArgs& args [[buffer(4)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    const uint index = group.x * kSimdWidth + lane, head = group.y, token = group.z;
    if (index >= args.cells) return;
    const uint cell = args.first_cell + index;
    bool seen = false;
    for (uint s = 0; s < args.spans_per_token; ++s) {
        const uint2 span = spans[token * args.spans_per_token + s];
        seen |= cell >= span.x && cell < span.y;
    }
    const size_t row = size_t(token) * args.heads + head;
    float score = kNoScore;
    if (seen) {
        const uint first = head / (args.heads / args.kv_heads) * kHeadDim / 4;
        float4 products = 0.0f;
        for (uint i = 0; i < kHeadDim / 4; ++i)
            products += q[row * (kHeadDim / 4) + i] * Kv::load4(k + size_t(cell) * args.cell_bytes, first + i);
        score = (products.x + products.y + products.z + products.w) * args.scale;
        if (args.softcap != 0.0f) score = args.softcap * precise::tanh(score / args.softcap);
    }
    scores[row * args.cells + index] = score;
}

// Group (head, token): scores become weights whose sum is 1.
kernel void attention_weights(device float* scores [[buffer(0)]], constant AttentionPassesArgs& args [[buffer(1)]],
                              uint2 group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    device float* row = scores + (size_t(group.y) * args.heads + group.x) * args.cells;
    float largest = kNoScore;
    for (uint i = lane; i < args.cells; i += kSimdWidth) largest = max(largest, row[i]);
    largest = simd_max(largest);
    float sum = 0.0f;
    for (uint i = lane; i < args.cells; i += kSimdWidth) {
        const float weight = row[i] == kNoScore ? 0.0f : exp(row[i] - largest);
        row[i] = weight;
        sum += weight;
    }
    const float inverse = 1.0f / simd_sum(sum);
    for (uint i = lane; i < args.cells; i += kSimdWidth) row[i] *= inverse;
}

// Group (head, token): lane l sums elements l, l + 32, ... of the values. A cell without weight is left out, because
// what isn't finite there would not be hidden by a product with 0.
template <typename Kv>
kernel void attention_sums(device const float* weights [[buffer(0)]], device const uchar* v [[buffer(1)]],
                           device float* out [[buffer(2)]], constant AttentionPassesArgs& args [[buffer(3)]],
                           uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    const size_t row = size_t(group.y) * args.heads + group.x;
    const uint first = group.x / (args.heads / args.kv_heads) * kHeadDim;
    for (uint d = lane; d < kHeadDim; d += kSimdWidth) {
        float sum = 0.0f;
        for (uint i = 0; i < args.cells; ++i) {
            const float weight = weights[row * args.cells + i];
            if (weight != 0.0f)
                sum += weight * Kv::load(v + size_t(args.first_cell + i) * args.cell_bytes, first + d);
        }
        out[row * kHeadDim + d] = sum;
    }
}

typedef decltype(attention_scores<KvF32>) attention_scores_t;
typedef decltype(attention_sums<KvF32>) attention_sums_t;
#define INSTANTIATE(name, Kv)                                                                       \
    template [[host_name("attention_scores_" name)]] kernel attention_scores_t attention_scores<Kv>; \
    template [[host_name("attention_sums_" name)]] kernel attention_sums_t attention_sums<Kv>;
FOR_EACH_KV_FORMAT(INSTANTIATE)
#undef INSTANTIATE
