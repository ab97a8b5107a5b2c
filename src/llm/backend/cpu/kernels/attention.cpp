#include "llm/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/round_up.h"

namespace ingot::cpu {
namespace {

// Up to this many tokens the cells are split too, since heads alone may be too few for the workers.
constexpr uint32_t kMaxSplitTokens = 4;
// Cells of a part. Fixed, so that results don't depend on the number of threads.
constexpr uint32_t kPartCells = 512;

uint32_t num_parts(uint32_t cells) {
    return (cells + kPartCells - 1) / kPartCells;
}

// A part: [tokens, heads, head_dim] sums, then [tokens, heads, 2] maxima and sums of weights.
size_t part_floats(uint32_t num_tokens, uint32_t num_heads, uint32_t head_dim) {
    return round_up(size_t(num_tokens) * num_heads * (head_dim + 2), 16);
}

// out = sum over parts of e^(maximum - overall maximum) * part / sum of weights, for one token and head.
void combine(const AttentionArgs& args, const float* parts, size_t stride, uint32_t count, uint32_t token,
             uint32_t head) {
    const size_t index = size_t(token) * args.num_heads + head;
    const size_t sums = size_t(args.num_tokens) * args.num_heads * args.head_dim;
    float maximum = -std::numeric_limits<float>::infinity(), total = 0;
    for (uint32_t p = 0; p < count; ++p) maximum = std::max(maximum, parts[p * stride + sums + index * 2]);
    float* out = args.out + token * args.out_stride + size_t(head) * args.head_dim;
    std::fill(out, out + args.head_dim, 0.0f);
    for (uint32_t p = 0; p < count; ++p) {
        const float* part = parts + p * stride;
        const float weight = std::exp(part[sums + index * 2] - maximum);
        total += weight * part[sums + index * 2 + 1];
        for (uint32_t i = 0; i < args.head_dim; ++i) out[i] += weight * part[index * args.head_dim + i];
    }
    for (uint32_t i = 0; i < args.head_dim; ++i) out[i] /= total;
}

// The task of one part and KV head. A part holds the heads of a token side by side, so that a KV head's group
// starts at its first head; AttendTask wants [token, head of the group], which is the same thing for one
// token: tasks with parts have one token.
void attend_part(const KernelTable& kernels, const AttentionArgs& args, uint32_t token, uint32_t kv_head,
                 uint32_t part, float* parts, size_t stride, std::byte* scratch) {
    const uint32_t group = args.num_heads / args.num_kv_heads;
    const size_t index = size_t(token) * args.num_heads + size_t(kv_head) * group;
    const size_t sums = size_t(args.num_tokens) * args.num_heads * args.head_dim;
    float* base = parts + part * stride;
    kernels.attend({.args = &args,
                    .kv_head = kv_head,
                    .first_token = token,
                    .num_tokens = 1,
                    .first_cell = part * kPartCells,
                    .end_cell = (part + 1) * kPartCells,
                    .part = base + index * args.head_dim,
                    .part_max_sum = base + sums + index * 2,
                    .scratch = scratch});
}

}  // namespace

uint32_t attend_tokens(uint32_t heads_per_kv_head) {
    return std::clamp(kAttendRows / heads_per_kv_head, 1u, kAttendMaxTokens);
}

size_t attend_scratch_bytes(uint32_t head_dim, uint32_t heads_per_kv_head) {
    // Queries, sums, scores, maxima and totals of the rows; keys and values of a block of 64 cells.
    const size_t rows = size_t(heads_per_kv_head) * attend_tokens(heads_per_kv_head);
    const size_t width = round_up(head_dim, 16);
    return (rows * (2 * width + 64 + 2) + 2 * 64 * width) * sizeof(float);
}

size_t attention_workspace_bytes(uint32_t num_tokens, uint32_t num_heads, uint32_t num_kv_heads,
                                 uint32_t head_dim, uint32_t max_cells, uint32_t num_threads) {
    const size_t scratch =
        round_up(attend_scratch_bytes(head_dim, num_heads / num_kv_heads), 64) * num_threads;
    if (num_tokens > kMaxSplitTokens) return scratch;
    return scratch + num_parts(max_cells) * part_floats(num_tokens, num_heads, head_dim) * sizeof(float);
}

void attention(const KernelTable& kernels, Worker& worker, const AttentionArgs& args, std::byte* workspace) {
    INGOT_CHECK(args.num_kv_heads > 0 && args.num_heads % args.num_kv_heads == 0, "{} heads over {} KV heads",
                args.num_heads, args.num_kv_heads);
    if (args.num_tokens == 0) return;
    const size_t scratch_bytes =
        round_up(attend_scratch_bytes(args.head_dim, args.num_heads / args.num_kv_heads), 64);
    std::byte* scratch = workspace + worker.index() * scratch_bytes;
    uint32_t end_cell = 0;
    for (uint32_t i = 0; i < args.num_tokens * args.spans_per_token; ++i)
        end_cell = std::max(end_cell, args.spans[i].end);
    const uint32_t parts = num_parts(end_cell);
    const bool split = args.num_tokens <= kMaxSplitTokens && parts > 1;
    if (!split) {
        const uint32_t most = attend_tokens(args.num_heads / args.num_kv_heads);
        const uint32_t blocks = (args.num_tokens + most - 1) / most;
        // The last tokens see most cells: they go first, so that the tail is short.
        for (uint32_t task; (task = worker.claim(0, 1)) < blocks * args.num_kv_heads;) {
            const uint32_t first = (blocks - 1 - task / args.num_kv_heads) * most;
            kernels.attend({.args = &args,
                            .kv_head = task % args.num_kv_heads,
                            .first_token = first,
                            .num_tokens = std::min(most, args.num_tokens - first),
                            .first_cell = 0,
                            .end_cell = end_cell,
                            .part = nullptr,
                            .part_max_sum = nullptr,
                            .scratch = scratch});
        }
        return;
    }
    auto* all_parts = reinterpret_cast<float*>(workspace + scratch_bytes * worker.count());
    const size_t stride = part_floats(args.num_tokens, args.num_heads, args.head_dim);
    const uint32_t per_token = parts * args.num_kv_heads;
    for (uint32_t task; (task = worker.claim(0, 1)) < per_token * args.num_tokens;) {
        const uint32_t within = task % per_token;
        attend_part(kernels, args, task / per_token, within % args.num_kv_heads, within / args.num_kv_heads,
                    all_parts, stride, scratch);
    }
    worker.barrier();
    const Range range = split_evenly(size_t(args.num_tokens) * args.num_heads, worker);
    for (size_t i = range.begin; i < range.end; ++i) {
        combine(args, all_parts, stride, parts, uint32_t(i / args.num_heads), uint32_t(i % args.num_heads));
    }
}

}  // namespace ingot::cpu
