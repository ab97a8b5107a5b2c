// Attention of one KV head's queries (KernelTable::attend), a block of cells at a time. All its queries,
// [tokens of the task, heads of the group], are rows of one small matrix Q. A block's keys and values become
// float panels once; then scores = Q K^T, an online softmax over each row's visible cells, and out += P V,
// both products by the same tile. With few rows the keys are not worth turning: their scores are dot
// products.
#pragma once

#include <cmath>

#include "llm/backend/cpu/kernels/attention.h"
#include "llm/backend/cpu/kernels/simd/math.h"

namespace ingot::cpu {
namespace {

constexpr uint32_t kBlockCells = 64;
constexpr uint32_t kTurnFromRows = 4;  // rows from which keys are transposed

template <typename V>
struct Attention {
    using F = typename V::F;

    const AttentionArgs& args;
    const AttendTask& task;
    const uint32_t group, rows, width;  // width: head_dim in whole vectors
    float* q;                           // [rows][width], zero behind head_dim
    float* out;                         // [rows][width]
    float* scores;                      // [rows][kBlockCells]
    float* keys;                        // few rows: [cells][width]; else [cells / 16][width][16]
    float* values;                      // [width / 16][cells][16]
    float* maximum;                     // [rows]
    float* total;                       // [rows]

    explicit Attention(const AttendTask& t)
        : args(*t.args),
          task(t),
          group(args.num_heads / args.num_kv_heads),
          rows(t.num_tokens * group),
          width((args.head_dim + 15) / 16 * 16) {
        auto* next = reinterpret_cast<float*>(t.scratch);
        const auto take = [&](size_t count) {
            float* start = next;
            next += count;
            return start;
        };
        q = take(size_t(rows) * width);
        out = take(size_t(rows) * width);
        scores = take(size_t(rows) * kBlockCells);
        keys = take(size_t(kBlockCells) * width);
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
        // Blocks start at multiples of their size, whatever the task: so a cell's block never depends on the
        // split.
        for (uint32_t cell = first / kBlockCells * kBlockCells; cell < end; cell += kBlockCells) {
            const uint32_t from = cell < first ? first : cell;
            block(from, (end - cell < kBlockCells ? end : cell + kBlockCells) - from);
        }
        store();
    }

  private:
    const CellSpan* spans_of(uint32_t t) const {
        return args.spans + size_t(task.first_token + t) * args.spans_per_token;
    }

    static F load_row(const float* p, uint32_t n) { return n >= 16 ? V::load(p) : V::load_first(p, n); }

    void load_queries() {
        for (uint32_t r = 0; r < rows; ++r) {
            const size_t head = size_t(task.kv_head) * group + r % group;
            const float* from =
                args.q + (task.first_token + r / group) * args.q_stride + head * args.head_dim;
            for (uint32_t i = 0; i < width; i += 16) {
                V::store(q + r * width + i,
                         V::mul(load_row(from + i, args.head_dim - i), V::set(args.scale)));
                V::store(out + r * width + i, V::zero());
            }
            maximum[r] = -__builtin_inff();
            total[r] = 0;
        }
    }

    // Elements [i, i + 16) of a cell's key or value.
    F load_kv(const void* region, uint32_t cell, uint32_t i) const {
        const auto* row = static_cast<const unsigned char*>(region) + cell * args.cell_bytes;
        const size_t at = size_t(task.kv_head) * args.head_dim + i;
        const uint32_t n = args.head_dim - i;
        if (args.format == kv::Format::kF32) return load_row(reinterpret_cast<const float*>(row) + at, n);
        if (args.format == kv::Format::kQ8_0) return load_blocks(row, at, n);
        const auto* halves = reinterpret_cast<const uint16_t*>(row) + at;
        if (n >= 16) return V::load_halves(halves);
        uint16_t padded[16] = {};
        __builtin_memcpy(padded, halves, n * sizeof(uint16_t));
        return V::load_halves(padded);
    }

    // Elements [at, at + 16) of a row of blocks, zero from the n-th on.
    static F load_blocks(const unsigned char* row, size_t at, uint32_t n) {
        constexpr size_t kBlock = 32, kBlockBytes = 34;
        uint16_t scales[16] = {};
        signed char codes[16] = {};
        if (at % 16 == 0 && n >= 16) {
            const unsigned char* block = row + at / kBlock * kBlockBytes;
            uint16_t scale;
            __builtin_memcpy(&scale, block, sizeof scale);
            for (uint16_t& each : scales) each = scale;
            return V::mul(V::load_s8(block + 2 + at % kBlock), V::load_halves(scales));
        }
        for (size_t k = 0; k < 16 && k < n; ++k) {
            const unsigned char* block = row + (at + k) / kBlock * kBlockBytes;
            __builtin_memcpy(&scales[k], block, sizeof scales[k]);
            codes[k] = static_cast<signed char>(block[2 + (at + k) % kBlock]);
        }
        return V::mul(V::load_s8(codes), V::load_halves(scales));
    }

    void block(uint32_t cell, uint32_t count) {
        const uint32_t padded = (count + 15) / 16 * 16;
        for (uint32_t c = 0; c < padded; ++c) {
            for (uint32_t i = 0; i < width; i += 16) {
                V::store(values + (i / 16 * padded + c) * 16,
                         c < count ? load_kv(args.v, cell + c, i) : V::zero());
            }
        }
        if (rows < kTurnFromRows) {
            dot_scores(cell, count);
        } else {
            turn_keys(cell, count, padded);
            for (uint32_t c = 0; c < padded; c += 16) {
                multiply(keys + size_t(c) * width, width, q, width, scores + c, kBlockCells, false);
            }
        }
        bool all_seen = true;
        for (uint32_t r = 0; r < rows; ++r) all_seen &= softmax_row(r, cell, count, padded);
        if (!all_seen && !all_finite(values, size_t(padded) * width)) return add_weighted(count, padded);
        for (uint32_t i = 0; i < width; i += 16) {
            multiply(values + size_t(i) * padded, padded, scores, kBlockCells, out + i, width, true);
        }
    }

    static bool all_finite(const float* of, size_t count) {
        F zeros = V::zero();
        for (size_t i = 0; i < count; i += 16) zeros = V::fma(V::load(of + i), V::zero(), zeros);
        return V::sum(zeros) == 0;
    }

    // out += P V, cell by cell: what has no weight adds nothing. In the product it would add zero times an
    // infinite value, which is no number, to rows that may not see the cell.
    void add_weighted(uint32_t count, uint32_t padded) {
        for (uint32_t r = 0; r < rows; ++r) {
            for (uint32_t c = 0; c < count; ++c) {
                const float weight = scores[r * kBlockCells + c];
                if (weight == 0) continue;
                for (uint32_t i = 0; i < width; i += 16) {
                    float* sum = out + r * width + i;
                    V::store(sum, V::fma(V::load(values + size_t(i) * padded + c * 16), V::set(weight),
                                         V::load(sum)));
                }
            }
        }
    }

    void turn_keys(uint32_t cell, uint32_t count, uint32_t padded) {
        for (uint32_t c = 0; c < padded; c += 16) {
            for (uint32_t i = 0; i < width; i += 16) {
                F square[16];
                for (uint32_t k = 0; k < 16; ++k) {
                    square[k] = c + k < count ? load_kv(args.k, cell + c + k, i) : V::zero();
                }
                V::transpose(square, keys + size_t(c) * width + i * 16);
            }
        }
    }

    void dot_scores(uint32_t cell, uint32_t count) {
        for (uint32_t c = 0; c < count; ++c) {
            for (uint32_t i = 0; i < width; i += 16) V::store(keys + i, load_kv(args.k, cell + c, i));
            for (uint32_t r = 0; r < rows; ++r) {
                F sum = V::zero();
                for (uint32_t i = 0; i < width; i += 16) {
                    sum = V::fma(V::load(q + r * width + i), V::load(keys + i), sum);
                }
                scores[r * kBlockCells + c] = V::sum(sum);
            }
        }
    }

    // c[r][0..16) (+)= sum over k < depth of a[r][k] * panel[k][0..16), for all rows.
    void multiply(const float* panel, uint32_t depth, const float* a, size_t a_stride, float* c,
                  size_t c_stride, bool add) const {
        constexpr uint32_t kTile = 6;
        static constexpr decltype(&tile<1>) kTiles[] = {tile<1>, tile<2>, tile<3>, tile<4>, tile<5>, tile<6>};
        // Of even sizes, 4 + 3 rather than 6 + 1: one row alone waits for each of its sums.
        uint32_t tiles = (rows + kTile - 1) / kTile;
        for (uint32_t r = 0, count; r < rows; r += count, --tiles) {
            count = (rows - r + tiles - 1) / tiles;
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

    // -infinity for the cells of the block that the token of row r does not see, and for the padding. Returns
    // how many it sees.
    uint32_t hide(uint32_t r, uint32_t cell, uint32_t count, uint32_t padded) {
        const CellSpan* spans = spans_of(r / group);
        float* s = scores + r * kBlockCells;
        for (uint32_t c = count; c < padded; ++c) s[c] = -__builtin_inff();
        if (args.spans_per_token == 1 && spans[0].begin <= cell && spans[0].end >= cell + count) return count;
        bool seen[kBlockCells] = {};
        for (uint32_t n = 0; n < args.spans_per_token; ++n) {
            for (uint32_t c = 0; c < count; ++c)
                seen[c] |= cell + c >= spans[n].begin && cell + c < spans[n].end;
        }
        uint32_t num_seen = 0;
        for (uint32_t c = 0; c < count; ++c) {
            if (!seen[c]) s[c] = -__builtin_inff();
            num_seen += seen[c];
        }
        return num_seen;
    }

    // Turns a row's scores into weights relative to its new maximum, and scales what it has so far to match.
    // True if its token sees all cells of the block. A score that is no number makes the row none, though
    // maxima may miss it.
    bool softmax_row(uint32_t r, uint32_t cell, uint32_t count, uint32_t padded) {
        float* s = scores + r * kBlockCells;
        if (args.softcap != 0) {
            for (uint32_t c = 0; c < padded; c += 16)
                V::store(s + c, soft_cap<V>(V::load(s + c), args.softcap));
        }
        const uint32_t num_seen = hide(r, cell, count, padded);
        if (num_seen == 0) {
            for (uint32_t c = 0; c < padded; c += 16) V::store(s + c, V::zero());
            return false;
        }
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
        return num_seen == count;
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
};

template <typename V>
void attend(const AttendTask& task) {
    Attention<V>(task).run();
}

}  // namespace
}  // namespace ingot::cpu
