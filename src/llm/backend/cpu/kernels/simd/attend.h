// Attention of some KV heads' queries over a part of the cells (KernelTable::attend), a block of cells at a
// time. A KV head's queries, [tokens of the task, heads of the group], are rows of one small matrix Q. Keys
// are transposed, sixteen cells at a time, and scores = Q K^T; then an online softmax over each row's visible
// cells, and out += P V. A block computes the rows that see any of it. Where they are few, values are read
// straight from the cells, otherwise they become float panels first.
//
// Whatever rows a task has, and which other cells they see, a row's sums come in one order: products of a
// score over the head's elements, from first to last; those of an output over the cells. Blocks start at
// multiples of their size.
#pragma once

#include <array>
#include <cmath>
#include <utility>

#include "llm/backend/cpu/kernels/attention.h"
#include "llm/backend/cpu/kernels/simd/cells.h"
#include "llm/backend/cpu/kernels/simd/math.h"

namespace ingot::cpu {
namespace {

constexpr uint32_t kBlockCells = 64;
constexpr uint32_t kFewRows = 8;  // up to which values are not worth a panel

// kWhole: heads are whole vectors.
template <typename V, kv::Format kFormat, bool kWhole>
struct Attention {
    using F = typename V::F;

    const AttentionArgs& args;
    const AttendTask& task;
    const uint32_t group, head_rows, rows,
        width;                            // head_rows: of a KV head; width: head_dim in whole vectors
    const size_t head_bytes;              // of a KV head in a cell's row, about: for fetching ahead
    float* q;                             // [rows][width], zero behind head_dim
    float* out;                           // [rows][width]
    float* scores;                        // [rows][kBlockCells]
    float* keys;                          // [width][16]
    float* values;                        // [width / 16][kBlockCells][16]
    float* maximum;                       // [rows]
    float* total;                         // [rows]
    uint32_t num_seen[kAttendMaxTokens];  // of the block's cells, by token

    explicit Attention(const AttendTask& t)
        : args(*t.args),
          task(t),
          group(args.num_heads / args.num_kv_heads),
          head_rows(t.num_tokens * group),
          rows(t.num_kv_heads * head_rows),
          width((args.head_dim + 15) / 16 * 16),
          head_bytes(args.cell_bytes / args.num_kv_heads) {
        auto* next = reinterpret_cast<float*>(t.scratch);
        const auto take = [&](size_t count) {
            float* start = next;
            next += (count + 15) / 16 * 16;
            return start;
        };
        q = take(size_t(rows) * width);
        out = take(size_t(rows) * width);
        scores = take(size_t(rows) * kBlockCells);
        keys = take(size_t(16) * width);
        values = take(size_t(kBlockCells) * width);
        maximum = take(rows);
        total = take(rows);
    }

    void run() {
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
        load_queries();
        for (uint32_t cell = first / kBlockCells * kBlockCells; cell < end; cell += kBlockCells)
            block(cell, end - cell < kBlockCells ? end - cell : kBlockCells);
        store();
    }

  private:
    const CellSpan* spans_of(uint32_t t) const {
        return args.spans + size_t(task.first_token + t) * args.spans_per_token;
    }
    const unsigned char* key(uint32_t cell) const {
        return static_cast<const unsigned char*>(args.k) + cell * args.cell_bytes;
    }
    const unsigned char* value(uint32_t cell) const {
        return static_cast<const unsigned char*>(args.v) + cell * args.cell_bytes;
    }
    // Elements [i, i + 16) of the task's h-th KV head in a cell's row.
    F load(const unsigned char* row, uint32_t h, uint32_t i) const {
        if constexpr (kWhole) return Cells<V, kFormat>::load_whole(row, first_element(h) + i);
        return Cells<V, kFormat>::load(row, first_element(h) + i, args.head_dim - i);
    }
    size_t first_element(uint32_t h) const { return size_t(task.kv_head + h) * args.head_dim; }

    // The task's KV heads of a cell, about, into the second-level cache.
    void prefetch(const unsigned char* row) const {
        const unsigned char* first = row + task.kv_head * head_bytes;
        for (size_t at = 0; at < task.num_kv_heads * head_bytes; at += 64)
            __builtin_prefetch(first + at, 0, 2);
    }

    void load_queries() {
        for (uint32_t r = 0; r < rows; ++r) {
            const uint32_t kv_head = task.kv_head + r / head_rows, token = r % head_rows / group;
            const size_t head = size_t(kv_head) * group + r % group;
            const float* from = args.q + (task.first_token + token) * args.q_stride + head * args.head_dim;
            for (uint32_t i = 0; i < width; i += 16) {
                V::store(q + r * width + i,
                         V::mul(load_floats<V>(from + i, args.head_dim - i), V::set(args.scale)));
                V::store(out + r * width + i, V::zero());
            }
            maximum[r] = -__builtin_inff();
            total[r] = 0;
        }
    }

    void block(uint32_t cell, uint32_t count) {
        bool all_seen = true;
        uint32_t first = task.num_tokens, end = 0;  // tokens that see any of it, and some between
        for (uint32_t t = 0; t < task.num_tokens; ++t) {
            num_seen[t] = count_seen(t, cell, count);
            if (num_seen[t] == 0) continue;
            if (end == 0) first = t;
            end = t + 1;
        }
        if (end == 0) return;
        for (uint32_t t = first; t < end; ++t) all_seen &= num_seen[t] == count;
        const uint32_t num_rows = (end - first) * group, padded = (count + 15) / 16 * 16;
        for (uint32_t c = 0; c < padded; c += 16) {
            for (uint32_t h = 0; h < task.num_kv_heads; ++h) {
                const uint32_t r = h * head_rows + first * group;
                turn_keys(h, cell + c, count - c < 16 ? count - c : 16);
                multiply(keys, width, q + r * width, width, scores + r * kBlockCells + c, kBlockCells,
                         num_rows, false);
            }
        }
        for (uint32_t h = 0; h < task.num_kv_heads; ++h) {
            const uint32_t r = h * head_rows + first * group;
            for (uint32_t n = 0; n < num_rows; ++n)
                softmax_row(r + n, first + n / group, cell, count, padded);
            if (!all_seen && !all_finite(h, cell, count)) {
                add_weighted(h, cell, count, r, num_rows);
            } else if (num_rows <= kFewRows) {
                add_values(h, cell, count, r, num_rows);
            } else {
                load_values(h, cell, count);
                for (uint32_t i = 0; i < width; i += 16) {
                    multiply(values + size_t(i) * kBlockCells, count, scores + r * kBlockCells, kBlockCells,
                             out + r * width + i, width, num_rows, true);
                }
            }
        }
    }

    // How many of the cells [cell, cell + count) a token sees.
    uint32_t count_seen(uint32_t t, uint32_t cell, uint32_t count) const {
        const CellSpan* spans = spans_of(t);
        uint32_t seen = 0;
        for (uint32_t s = 0; s < args.spans_per_token; ++s) {
            const uint32_t begin = spans[s].begin > cell ? spans[s].begin : cell;
            const uint32_t end = spans[s].end < cell + count ? spans[s].end : cell + count;
            if (begin < end) seen += end - begin;
        }
        return seen;
    }

    // Sixteen cells' keys as columns, zero from the count-th on. Fetches their values.
    void turn_keys(uint32_t h, uint32_t cell, uint32_t count) {
        const uint32_t steps = task.num_kv_heads * width / 16;
        for (uint32_t i = 0; i < width; i += 16) {
            for (uint32_t c = h * width / 16 + i / 16; c < count; c += steps) prefetch(value(cell + c));
            if constexpr (kWhole && kFormat == kv::Format::kF16 && requires { V::turn_halves; }) {
                if (count == 16) {
                    V::turn_halves(key(cell) + (first_element(h) + i) * sizeof(uint16_t), args.cell_bytes,
                                   keys + i * 16);
                    continue;
                }
            }
            F square[16];
            for (uint32_t c = 0; c < 16; ++c) square[c] = c < count ? load(key(cell + c), h, i) : V::zero();
            V::transpose(square, keys + i * 16);
        }
    }

    void load_values(uint32_t h, uint32_t cell, uint32_t count) {
        for (uint32_t c = 0; c < count; ++c) {
            for (uint32_t i = 0; i < width; i += 16)
                V::store(values + (i / 16 * kBlockCells + c) * 16, load(value(cell + c), h, i));
        }
    }

    // c[r][0..16) (+)= sum over k < depth of a[r][k] * panel[k][0..16), for num_rows rows.
    static void multiply(const float* panel, uint32_t depth, const float* a, size_t a_stride, float* c,
                         size_t c_stride, uint32_t num_rows, bool add) {
        using Tile = void (*)(const float*, uint32_t, const float*, size_t, float*, size_t, bool);
        static constexpr auto kTiles = []<uint32_t... kRows>(std::integer_sequence<uint32_t, kRows...>) {
            return std::array<Tile, sizeof...(kRows)>{tile<kRows + 1>...};
        }(std::make_integer_sequence<uint32_t, V::kFloatTileTokens>());
        // Of even sizes, 4 + 3 rather than 6 + 1: one row alone waits for each of its sums.
        uint32_t tiles = (num_rows + kTiles.size() - 1) / kTiles.size();
        for (uint32_t r = 0, count; r < num_rows; r += count, --tiles) {
            count = (num_rows - r + tiles - 1) / tiles;
            kTiles[count - 1](panel, depth, a + r * a_stride, a_stride, c + r * c_stride, c_stride, add);
        }
    }

    template <uint32_t kRows>
    static void tile(const float* panel, uint32_t depth, const float* a, size_t a_stride, float* c,
                     size_t c_stride, bool add) {
        F sums[kRows];
#pragma GCC unroll 12
        for (uint32_t r = 0; r < kRows; ++r) sums[r] = add ? V::load(c + r * c_stride) : V::zero();
        for (uint32_t k = 0; k < depth; ++k) {
            const F w = V::load(panel + k * 16);
#pragma GCC unroll 12
            for (uint32_t r = 0; r < kRows; ++r) sums[r] = V::fma(w, V::set(a[r * a_stride + k]), sums[r]);
        }
#pragma GCC unroll 12
        for (uint32_t r = 0; r < kRows; ++r) V::store(c + r * c_stride, sums[r]);
    }

    // -infinity for the scores of cells that the t-th token does not see, and for the padding.
    void hide(float* s, uint32_t t, uint32_t cell, uint32_t count, uint32_t padded) const {
        for (uint32_t c = count; c < padded; ++c) s[c] = -__builtin_inff();
        if (num_seen[t] == count) return;
        const CellSpan* spans = spans_of(t);
        bool seen[kBlockCells] = {};
        for (uint32_t n = 0; n < args.spans_per_token; ++n) {
            for (uint32_t c = 0; c < count; ++c)
                seen[c] |= cell + c >= spans[n].begin && cell + c < spans[n].end;
        }
        for (uint32_t c = 0; c < count; ++c) {
            if (!seen[c]) s[c] = -__builtin_inff();
        }
    }

    // Turns the scores of a row, of the t-th token, into weights relative to its new maximum, and scales what
    // it has so far to match. A score that is no number makes the row none, though maxima may miss it.
    void softmax_row(uint32_t r, uint32_t t, uint32_t cell, uint32_t count, uint32_t padded) {
        float* s = scores + r * kBlockCells;
        if (num_seen[t] == 0) {
            for (uint32_t c = 0; c < padded; c += 16) V::store(s + c, V::zero());
            return;
        }
        if (args.softcap != 0) {
            for (uint32_t c = 0; c < padded; c += 16)
                V::store(s + c, soft_cap<V>(V::load(s + c), args.softcap));
        }
        hide(s, t, cell, count, padded);
        F largest = V::load(s);
        for (uint32_t c = 16; c < padded; c += 16) largest = V::max(largest, V::load(s + c));
        const float block_maximum = V::largest(largest);
        const float shift = block_maximum > maximum[r] ? block_maximum : maximum[r];
        F sum = V::zero();
        for (uint32_t c = 0; c < padded; c += 16) {
            const F weight = exp<V>(V::sub(V::load(s + c), V::set(shift)));
            V::store(s + c, weight);
            sum = V::add(sum, weight);
        }
        if (shift != maximum[r]) {
            const float correction = std::exp(maximum[r] - shift);
            total[r] *= correction;
            float* row = out + r * width;
            for (uint32_t i = 0; i < width; i += 16)
                V::store(row + i, V::mul(V::load(row + i), V::set(correction)));
            maximum[r] = shift;
        }
        total[r] += V::sum(sum);
    }

    bool all_finite(uint32_t h, uint32_t cell, uint32_t count) const {
        F zeros = V::zero();
        for (uint32_t c = 0; c < count; ++c) {
            for (uint32_t i = 0; i < width; i += 16)
                zeros = V::fma(load(value(cell + c), h, i), V::zero(), zeros);
        }
        return V::sum(zeros) == 0;
    }

    // out += P V, cell by cell: what has no weight adds nothing. As a product, zero times an infinite value
    // would be no number in rows that may not see the cell.
    void add_weighted(uint32_t h, uint32_t cell, uint32_t count, uint32_t first_row, uint32_t num_rows) {
        for (uint32_t r = first_row; r < first_row + num_rows; ++r) {
            for (uint32_t c = 0; c < count; ++c) {
                const float weight = scores[r * kBlockCells + c];
                if (weight == 0) continue;
                for (uint32_t i = 0; i < width; i += 16) {
                    float* sum = out + r * width + i;
                    V::store(sum, V::fma(load(value(cell + c), h, i), V::set(weight), V::load(sum)));
                }
            }
        }
    }

    // out += P V from the cells.
    void add_values(uint32_t h, uint32_t cell, uint32_t count, uint32_t first_row, uint32_t num_rows) {
        constexpr uint32_t kSums = V::kFloatTileTokens < kFewRows ? V::kFloatTileTokens : kFewRows;
        using Tile = void (Attention::*)(uint32_t, uint32_t, uint32_t, uint32_t);
        static constexpr auto kTiles = []<uint32_t... kRows>(std::integer_sequence<uint32_t, kRows...>) {
            return std::array<Tile, sizeof...(kRows)>{&Attention::value_tiles<kRows + 1>...};
        }(std::make_integer_sequence<uint32_t, kSums>());
        uint32_t tiles = (num_rows + kSums - 1) / kSums;
        for (uint32_t r = 0, n; r < num_rows; r += n, --tiles) {
            n = (num_rows - r + tiles - 1) / tiles;
            (this->*kTiles[n - 1])(h, cell, count, first_row + r);
        }
    }

    template <uint32_t kRows>
    void value_tiles(uint32_t h, uint32_t cell, uint32_t count, uint32_t r) {
        constexpr uint32_t kSums = V::kFloatTileTokens;
        constexpr uint32_t kVectors = kSums >= 4 * kRows ? 4 : kSums >= 2 * kRows ? 2 : 1;
        uint32_t i = 0;
        for (; i + kVectors * 16 <= width; i += kVectors * 16)
            value_tile<kRows, kVectors>(h, cell, count, r, i);
        for (; i < width; i += 16) value_tile<kRows, 1>(h, cell, count, r, i);
    }

    // out[r..r + kRows)[i..i + 16 kVectors) += weights * values. Fetches the next block's keys.
    template <uint32_t kRows, uint32_t kVectors>
    void value_tile(uint32_t h, uint32_t cell, uint32_t count, uint32_t r, uint32_t i) {
        const float* weights = scores + r * kBlockCells;
        float* to = out + r * width + i;
        F sums[kRows][kVectors];
#pragma GCC unroll 8
        for (uint32_t n = 0; n < kRows; ++n) {
#pragma GCC unroll 4
            for (uint32_t v = 0; v < kVectors; ++v) sums[n][v] = V::load(to + n * width + 16 * v);
        }
        const unsigned char* row = value(cell);
        const unsigned char* next =
            key(cell + kBlockCells) + (task.kv_head + h) * head_bytes + head_bytes * i / width;
        for (uint32_t c = 0; c < count; ++c, row += args.cell_bytes, next += args.cell_bytes, ++weights) {
            __builtin_prefetch(next, 0, 2);
#pragma GCC unroll 4
            for (uint32_t v = 0; v < kVectors; ++v) {
                const F x = load(row, h, i + 16 * v);
#pragma GCC unroll 8
                for (uint32_t n = 0; n < kRows; ++n)
                    sums[n][v] = V::fma(x, V::set(weights[n * kBlockCells]), sums[n][v]);
            }
        }
#pragma GCC unroll 8
        for (uint32_t n = 0; n < kRows; ++n) {
#pragma GCC unroll 4
            for (uint32_t v = 0; v < kVectors; ++v) V::store(to + n * width + 16 * v, sums[n][v]);
        }
    }

    void store() const {
        for (uint32_t r = 0; r < rows; ++r) {
            float* to = task.part + size_t(r) * args.head_dim;
            task.part_max_sum[2 * r] = maximum[r];
            task.part_max_sum[2 * r + 1] = total[r];
            for (uint32_t i = 0; i < args.head_dim; i += 16) {
                const F value = V::load(out + r * width + i);
                if (args.head_dim - i >= 16) {
                    V::store(to + i, value);
                } else {
                    V::store_first(to + i, args.head_dim - i, value);
                }
            }
        }
    }
};

template <typename V, kv::Format kFormat>
void attend(const AttendTask& task) {
    if (task.args->head_dim % 16 == 0) return Attention<V, kFormat, true>(task).run();
    Attention<V, kFormat, false>(task).run();
}

template <typename V>
void attend(const AttendTask& task) {
    switch (task.args->format) {
        case kv::Format::kF32:
            return attend<V, kv::Format::kF32>(task);
        case kv::Format::kF16:
            return attend<V, kv::Format::kF16>(task);
        case kv::Format::kQ8_0:
            return attend<V, kv::Format::kQ8_0>(task);
    }
}

}  // namespace
}  // namespace ingot::cpu
