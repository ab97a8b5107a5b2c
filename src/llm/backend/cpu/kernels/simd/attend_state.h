// What the ways of KernelTable::attend share: the queries of a task as rows of one small matrix, [tokens of
// the task, heads of the KV head's group], the sums and softmax state that an online softmax keeps a row, and
// which cells the rows see.
#pragma once

#include <cmath>

#include "llm/backend/cpu/kernels/attention.h"
#include "llm/backend/cpu/kernels/simd/cells.h"

namespace ingot::cpu {
namespace {

constexpr uint32_t kBlockCells = 64;

template <typename V>
struct AttendState {
    using F = typename V::F;

    const AttentionArgs& args;
    const AttendTask& task;
    const uint32_t group, rows, width;  // width: head_dim in whole vectors
    float* next;                        // what is left of the scratch memory
    float* q;                           // [rows][width], zero behind head_dim
    float* out;                         // [rows][width]
    float* maximum;                     // [rows]
    float* total;                       // [rows]

    explicit AttendState(const AttendTask& t)
        : args(*t.args),
          task(t),
          group(args.num_heads / args.num_kv_heads),
          rows(t.num_tokens * group),
          width((args.head_dim + 15) / 16 * 16),
          next(reinterpret_cast<float*>(t.scratch)) {
        q = take(size_t(rows) * width);
        out = take(size_t(rows) * width);
        maximum = take(rows);
        total = take(rows);
        load_queries();
    }

    float* take(size_t count) {
        float* start = next;
        next += (count + 15) / 16 * 16;  // 64-byte aligned
        return start;
    }

    // Calls block(cell, count) for the cells that any row sees. Blocks start at multiples of their size,
    // whatever the task: so a cell's block never depends on the split.
    template <typename Block>
    void for_blocks(Block block) const {
        uint32_t first = task.end_cell, end = task.first_cell;
        for (uint32_t t = 0; t < task.num_tokens; ++t) {
            const CellSpan* spans = spans_of(t);
            for (uint32_t s = 0; s < args.spans_per_token; ++s) {
                if (spans[s].begin >= spans[s].end) continue;
                if (spans[s].begin < first) first = spans[s].begin;
                if (spans[s].end > end) end = spans[s].end;
            }
        }
        if (first < task.first_cell) first = task.first_cell;
        if (end > task.end_cell) end = task.end_cell;
        for (uint32_t cell = first / kBlockCells * kBlockCells; cell < end; cell += kBlockCells) {
            const uint32_t from = cell < first ? first : cell;
            block(from, (end - cell < kBlockCells ? end : cell + kBlockCells) - from);
        }
    }

    // Which of the cells [cell, cell + count) the t-th token sees, and how many. `seen` is all false before,
    // and stays that if the token sees all.
    uint32_t find_seen(uint32_t t, uint32_t cell, uint32_t count, bool* seen) const {
        const CellSpan* spans = spans_of(t);
        if (args.spans_per_token == 1 && spans[0].begin <= cell && spans[0].end >= cell + count) return count;
        for (uint32_t n = 0; n < args.spans_per_token; ++n) {
            for (uint32_t c = 0; c < count; ++c)
                seen[c] |= cell + c >= spans[n].begin && cell + c < spans[n].end;
        }
        uint32_t num_seen = 0;
        for (uint32_t c = 0; c < count; ++c) num_seen += seen[c];
        return num_seen;
    }

    // A row's new maximum: what it has so far is scaled to match.
    void raise_maximum(uint32_t r, float to) {
        if (to == maximum[r]) return;
        const float correction = std::exp(maximum[r] - to);
        total[r] *= correction;
        float* row = out + r * width;
        for (uint32_t i = 0; i < width; i += 16)
            V::store(row + i, V::mul(V::load(row + i), V::set(correction)));
        maximum[r] = to;
    }

    void store() const {
        for (uint32_t r = 0; r < rows; ++r) {
            const size_t head = size_t(task.kv_head) * group + r % group;
            float* to = args.out + (task.first_token + r / group) * args.out_stride + head * args.head_dim;
            float factor = 1 / total[r];
            if (task.part != nullptr) {
                to = task.part + size_t(r) * args.head_dim;
                factor = 1;
                task.part_max_sum[2 * r] = maximum[r];
                task.part_max_sum[2 * r + 1] = total[r];
            }
            for (uint32_t i = 0; i < args.head_dim; i += 16) {
                const F value = V::mul(V::load(out + r * width + i), V::set(factor));
                if (args.head_dim - i >= 16) {
                    V::store(to + i, value);
                } else {
                    V::store_first(to + i, args.head_dim - i, value);
                }
            }
        }
    }

  private:
    const CellSpan* spans_of(uint32_t t) const {
        return args.spans + size_t(task.first_token + t) * args.spans_per_token;
    }

    void load_queries() {
        for (uint32_t r = 0; r < rows; ++r) {
            const size_t head = size_t(task.kv_head) * group + r % group;
            const float* from =
                args.q + (task.first_token + r / group) * args.q_stride + head * args.head_dim;
            for (uint32_t i = 0; i < width; i += 16) {
                V::store(q + r * width + i,
                         V::mul(load_floats<V>(from + i, args.head_dim - i), V::set(args.scale)));
                V::store(out + r * width + i, V::zero());
            }
            maximum[r] = -__builtin_inff();
            total[r] = 0;
        }
    }
};

}  // namespace
}  // namespace ingot::cpu
