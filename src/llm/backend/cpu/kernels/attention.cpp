#include "llm/backend/cpu/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/round_up.h"

namespace ingot::cpu {
namespace {

// Up to this many tokens the parts are tasks too, since heads alone may be too few for the workers.
constexpr uint32_t kMaxSplitTokens = 8;
// Cells of a part. Fixed, so that results depend neither on the number of threads nor on that of tokens.
constexpr uint32_t kPartCells = 512;

uint32_t num_parts(uint32_t cells) {
    return (cells + kPartCells - 1) / kPartCells;
}

// All cells that some of the tokens see, and maybe others between.
CellSpan cells_of(const AttentionArgs& args, uint32_t first_token, uint32_t num_tokens) {
    CellSpan all{std::numeric_limits<uint32_t>::max(), 0};
    for (size_t i = 0; i < size_t(num_tokens) * args.spans_per_token; ++i) {
        const CellSpan span = args.spans[size_t(first_token) * args.spans_per_token + i];
        if (span.begin >= span.end) continue;
        all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
    }
    return all;
}

// What a part, or several, yield for some rows: see AttendTask.
struct Rows {
    float* sums;
    float* max_sum;

    Rows from(size_t row, uint32_t head_dim) const { return {sums + row * head_dim, max_sum + 2 * row}; }
};

size_t floats_of_rows(size_t rows, uint32_t head_dim) {
    return round_up(rows * (head_dim + 2), 16);
}

Rows rows_at(float* memory, size_t rows, uint32_t head_dim) {
    return {memory, memory + rows * head_dim};
}

// Adds a part to what the parts before it yielded. Not inlined: the same instructions wherever it is used.
[[gnu::noinline]] void merge(Rows so_far, Rows part, size_t num_rows, uint32_t head_dim) {
    for (size_t r = 0; r < num_rows; ++r) {
        const Rows to = so_far.from(r, head_dim), from = part.from(r, head_dim);
        if (from.max_sum[1] == 0) continue;  // sees none of its cells
        if (to.max_sum[1] == 0) {
            std::copy_n(from.sums, head_dim, to.sums);
            std::copy_n(from.max_sum, 2, to.max_sum);
            continue;
        }
        const float maximum = std::max(to.max_sum[0], from.max_sum[0]);
        const float old_weight = std::exp(to.max_sum[0] - maximum);
        const float weight = std::exp(from.max_sum[0] - maximum);
        for (uint32_t i = 0; i < head_dim; ++i) to.sums[i] = old_weight * to.sums[i] + weight * from.sums[i];
        to.max_sum[0] = maximum;
        to.max_sum[1] = old_weight * to.max_sum[1] + weight * from.max_sum[1];
    }
}

void finish(const AttentionArgs& args, Rows row, uint32_t token, uint32_t head) {
    float* out = args.out + token * args.out_stride + size_t(head) * args.head_dim;
    for (uint32_t i = 0; i < args.head_dim; ++i) out[i] = row.sums[i] / row.max_sum[1];
}

// Some tokens of some KV heads.
struct Queries {
    uint32_t kv_head, num_kv_heads, first_token, num_tokens;
};

void attend_part(const KernelTable& kernels, const AttentionArgs& args, const Queries& queries, uint32_t part,
                 Rows rows, std::byte* scratch) {
    kernels.attend({.args = &args,
                    .kv_head = queries.kv_head,
                    .num_kv_heads = queries.num_kv_heads,
                    .first_token = queries.first_token,
                    .num_tokens = queries.num_tokens,
                    .first_cell = part * kPartCells,
                    .end_cell = (part + 1) * kPartCells,
                    .part = rows.sums,
                    .part_max_sum = rows.max_sum,
                    .scratch = scratch});
}

// All parts of one KV head by one worker. memory: of two times floats_of_rows().
void attend_all(const KernelTable& kernels, const AttentionArgs& args, const Queries& queries, float* memory,
                std::byte* scratch) {
    const uint32_t group = args.num_heads / args.num_kv_heads;
    const size_t num_rows = size_t(queries.num_tokens) * group;
    const Rows all = rows_at(memory, num_rows, args.head_dim);
    const Rows one = rows_at(memory + floats_of_rows(num_rows, args.head_dim), num_rows, args.head_dim);
    const CellSpan cells = cells_of(args, queries.first_token, queries.num_tokens);
    const uint32_t first = cells.begin / kPartCells;
    for (uint32_t part = first; part < num_parts(cells.end); ++part) {
        attend_part(kernels, args, queries, part, part == first ? all : one, scratch);
        if (part != first) merge(all, one, num_rows, args.head_dim);
    }
    for (size_t r = 0; r < num_rows; ++r) {
        finish(args, all.from(r, args.head_dim), uint32_t(queries.first_token + r / group),
               uint32_t(queries.kv_head * group + r % group));
    }
}

// The memory of parts: a part has [kv_heads, tokens, heads of the group] rows, so that those of a task are
// side by side.
struct Parts {
    const AttentionArgs& args;
    float* memory;

    Rows at(uint32_t part, uint32_t kv_head, uint32_t token) const {
        const size_t rows = size_t(args.num_tokens) * args.num_heads;
        const size_t row = (size_t(kv_head) * args.num_tokens + token) * (args.num_heads / args.num_kv_heads);
        return rows_at(memory + part * floats_of_rows(rows, args.head_dim), rows, args.head_dim)
            .from(row, args.head_dim);
    }

    void combine(uint32_t count, uint32_t token, uint32_t head) const {
        const uint32_t group = args.num_heads / args.num_kv_heads;
        const Rows all = at(0, head / group, token).from(head % group, args.head_dim);
        for (uint32_t p = 1; p < count; ++p)
            merge(all, at(p, head / group, token).from(head % group, args.head_dim), 1, args.head_dim);
        finish(args, all, token, head);
    }
};

// Rows of a task.
size_t max_rows(uint32_t heads_per_kv_head) {
    return std::max(kAttendRows, heads_per_kv_head);
}

size_t worker_bytes(uint32_t head_dim, uint32_t heads_per_kv_head) {
    return round_up(attend_scratch_bytes(head_dim, heads_per_kv_head), 64) +
           2 * floats_of_rows(max_rows(heads_per_kv_head), head_dim) * sizeof(float);
}

// KV heads of a part that one task takes: many read whole rows of cells, as memory likes it, few leave tasks
// for all workers.
uint32_t heads_of_task(const AttentionArgs& args, uint32_t parts, uint32_t workers) {
    uint32_t heads = args.num_kv_heads;
    const auto too_many = [&] {
        return args.num_tokens * heads * (args.num_heads / args.num_kv_heads) > kAttendRows ||
               parts * (args.num_kv_heads / heads) < 2 * workers;
    };
    while (heads % 2 == 0 && too_many()) heads /= 2;
    return too_many() ? 1 : heads;
}

}  // namespace

uint32_t attend_tokens(uint32_t heads_per_kv_head) {
    return std::clamp(kAttendRows / heads_per_kv_head, 1u, kAttendMaxTokens);
}

size_t attend_scratch_bytes(uint32_t head_dim, uint32_t heads_per_kv_head) {
    // Queries, sums, scores, maxima and totals of the rows; keys of 16 cells, values of a block of 64.
    const size_t rows = max_rows(heads_per_kv_head);
    const size_t width = round_up(head_dim, 16);
    return (rows * (2 * width + 64) + 2 * round_up(rows, 16) + (16 + 64) * width) * sizeof(float);
}

size_t attention_workspace_bytes(uint32_t num_tokens, uint32_t num_heads, uint32_t num_kv_heads,
                                 uint32_t head_dim, uint32_t max_cells, uint32_t num_threads) {
    const size_t workers = worker_bytes(head_dim, num_heads / num_kv_heads) * num_threads;
    if (num_tokens > kMaxSplitTokens) return workers;
    return workers +
           num_parts(max_cells) * floats_of_rows(size_t(num_tokens) * num_heads, head_dim) * sizeof(float);
}

void attention(const KernelTable& kernels, Worker& worker, const AttentionArgs& args, std::byte* workspace) {
    INGOT_CHECK(args.num_kv_heads > 0 && args.num_heads % args.num_kv_heads == 0, "{} heads over {} KV heads",
                args.num_heads, args.num_kv_heads);
    if (args.num_tokens == 0) return;
    const uint32_t group = args.num_heads / args.num_kv_heads;
    std::byte* scratch = workspace + worker.index() * worker_bytes(args.head_dim, group);
    const uint32_t most = attend_tokens(group), blocks = (args.num_tokens + most - 1) / most;
    // The last tokens see most cells: they go first, so that the tail is short.
    const auto queries = [&](uint32_t task, uint32_t num_heads) -> Queries {
        const uint32_t kv_head = task % (args.num_kv_heads / num_heads) * num_heads;
        const uint32_t first = (blocks - 1 - task / (args.num_kv_heads / num_heads)) * most;
        return {kv_head, num_heads, first, std::min(most, args.num_tokens - first)};
    };
    const uint32_t parts = num_parts(cells_of(args, 0, args.num_tokens).end);
    if (args.num_tokens > kMaxSplitTokens || parts == 1) {
        auto* rows =
            reinterpret_cast<float*>(scratch + round_up(attend_scratch_bytes(args.head_dim, group), 64));
        for (uint32_t task; (task = worker.claim(0, 1)) < blocks * args.num_kv_heads;)
            attend_all(kernels, args, queries(task, 1), rows, scratch);
        return;
    }
    const Parts memory{
        args, reinterpret_cast<float*>(workspace + worker_bytes(args.head_dim, group) * worker.count())};
    const uint32_t heads = heads_of_task(args, parts, worker.count());
    const uint32_t tasks = blocks * (args.num_kv_heads / heads);
    for (uint32_t task; (task = worker.claim(0, 1)) < tasks * parts;) {
        const Queries some = queries(task % tasks, heads);
        attend_part(kernels, args, some, task / tasks,
                    memory.at(task / tasks, some.kv_head, some.first_token), scratch);
    }
    worker.barrier();
    const Range range = split_evenly(size_t(args.num_tokens) * args.num_heads, worker);
    for (size_t i = range.begin; i < range.end; ++i)
        memory.combine(parts, uint32_t(i / args.num_heads), uint32_t(i % args.num_heads));
}

}  // namespace ingot::cpu
