// Attention of one KV head's queries (KernelTable::attend), a block of cells at a time. A block's keys and
// values become float panels once; then scores = Q K^T, an online softmax over each row's visible cells, and
// out += P V, both products by the same tile. Few rows go another way: attend_few.h.
#pragma once

#include "llm/backend/cpu/kernels/simd/attend_few.h"
#include "llm/backend/cpu/kernels/simd/attend_state.h"
#include "llm/backend/cpu/kernels/simd/math.h"

namespace ingot::cpu {
namespace {

template <typename V>
struct Attention : AttendState<V> {
    using F = typename V::F;
    using AttendState<V>::args, AttendState<V>::task, AttendState<V>::rows, AttendState<V>::width;
    using AttendState<V>::q, AttendState<V>::out, AttendState<V>::maximum, AttendState<V>::total;

    float* scores;  // [rows][kBlockCells]
    float* keys;    // [cells / 16][width][16]
    float* values;  // [width / 16][cells][16]

    explicit Attention(const AttendTask& t)
        : AttendState<V>(t),
          scores(this->take(size_t(rows) * kBlockCells)),
          keys(this->take(size_t(kBlockCells) * width)),
          values(this->take(size_t(kBlockCells) * width)) {}

    void run() {
        this->for_blocks([&](uint32_t cell, uint32_t count) { block(cell, count); });
        this->store();
    }

  private:
    // Elements [i, i + 16) of a cell's key or value.
    F load_kv(const void* region, uint32_t cell, uint32_t i) const {
        const auto* row = static_cast<const unsigned char*>(region) + cell * args.cell_bytes;
        const size_t at = size_t(task.kv_head) * args.head_dim + i;
        const uint32_t n = args.head_dim - i;
        switch (args.format) {
            case kv::Format::kF32:
                return Cells<V, kv::Format::kF32>::load(row, at, n);
            case kv::Format::kF16:
                return Cells<V, kv::Format::kF16>::load(row, at, n);
            case kv::Format::kQ8_0:
                return Cells<V, kv::Format::kQ8_0>::load(row, at, n);
        }
        return V::zero();
    }

    void block(uint32_t cell, uint32_t count) {
        const uint32_t padded = (count + 15) / 16 * 16;
        for (uint32_t c = 0; c < padded; ++c) {
            for (uint32_t i = 0; i < width; i += 16) {
                V::store(values + (i / 16 * padded + c) * 16,
                         c < count ? load_kv(args.v, cell + c, i) : V::zero());
            }
        }
        turn_keys(cell, count, padded);
        for (uint32_t c = 0; c < padded; c += 16) {
            multiply(keys + size_t(c) * width, width, q, width, scores + c, kBlockCells, false);
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
        float* s = scores + r * kBlockCells;
        for (uint32_t c = count; c < padded; ++c) s[c] = -__builtin_inff();
        bool seen[kBlockCells] = {};
        const uint32_t num_seen = this->find_seen(r / this->group, cell, count, seen);
        if (num_seen == count) return count;
        for (uint32_t c = 0; c < count; ++c) {
            if (!seen[c]) s[c] = -__builtin_inff();
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
        this->raise_maximum(r, shift);
        total[r] += V::sum(sum);
        return num_seen == count;
    }
};

template <typename V>
void attend(const AttendTask& task) {
    const uint32_t rows = task.num_tokens * (task.args->num_heads / task.args->num_kv_heads);
    if (rows <= kAttendFewRows) return attend_few<V>(task);
    Attention<V>(task).run();
}

}  // namespace
}  // namespace ingot::cpu
