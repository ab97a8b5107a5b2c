// Attention over a KV cache: scaled dot products of each query head with the cells that its token may see,
// online softmax, weighted sum of values. Grouped queries: num_heads is a multiple of num_kv_heads, query
// head h reads KV head h / (num_heads / num_kv_heads). Which cells a token sees (causal, sliding window) is
// the caller's span.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "llm/backend/cell_spans.h"
#include "llm/backend/cpu/kernels/kernel_table.h"
#include "llm/kv/format.h"

namespace ingot::cpu {

struct AttentionArgs {
    const float* q;   // [tokens, num_heads, head_dim]
    size_t q_stride;  // floats from a token to the next
    const void* k;    // [cells, num_kv_heads, head_dim] in `format`
    const void* v;
    kv::Format format;
    size_t cell_bytes;  // from a cell to the next: kv::row_bytes()
    float* out;         // [tokens, num_heads, head_dim]
    size_t out_stride;
    uint32_t num_tokens, num_heads, num_kv_heads, head_dim;
    float scale;        // of the dot products, before the softmax
    float softcap = 0;  // scores become softcap * tanh(score / softcap); 0: off
    // [tokens, spans_per_token]: the cells that a token sees, disjoint, at least one cell in all; unused
    // entries are empty and come last.
    const CellSpan* spans;
    uint32_t spans_per_token = 1;
};

// The query heads of KV heads [kv_head, kv_head + num_kv_heads) for tokens [first_token, first_token +
// num_tokens) over the cells [first_cell, end_cell) that their spans contain. Several KV heads are for
// reading whole rows of cells; a row's result does not depend on which others its task has.
struct AttendTask {
    const AttentionArgs* args;
    uint32_t kv_head, num_kv_heads;
    uint32_t first_token, num_tokens;
    uint32_t first_cell, end_cell;
    // For each [KV head, token, head of the group]: the weighted sum relative to its maximum [.., head_dim],
    // and {maximum, sum of weights} [.., 2]; a token that sees none of the cells gets maximum -inf and zeros.
    float* part;
    float* part_max_sum;
    std::byte* scratch;  // attend_scratch_bytes(), 64-byte aligned
};
// Most tokens of a task, and most rows of queries unless one token's are more: so that a block of keys is
// unpacked for many and all fit a second-level cache.
constexpr uint32_t kAttendMaxTokens = 16, kAttendRows = 64;
uint32_t attend_tokens(uint32_t heads_per_kv_head);
size_t attend_scratch_bytes(uint32_t head_dim, uint32_t heads_per_kv_head);

// Bytes of workspace for all workers together; `max_cells` is the largest span end that will occur.
size_t attention_workspace_bytes(uint32_t num_tokens, uint32_t num_heads, uint32_t num_kv_heads,
                                 uint32_t head_dim, uint32_t max_cells, uint32_t num_threads);

// Every worker of the region calls it with the same arguments; complete after the caller's next barrier, and
// the same bits for every number of threads, and for a token whichever others the call has. workspace:
// 64-byte aligned. Uses the worker's counters: between two such calls there must be a barrier.
void attention(const KernelTable& kernels, Worker& worker, const AttentionArgs& args, std::byte* workspace);

}  // namespace ingot::cpu
