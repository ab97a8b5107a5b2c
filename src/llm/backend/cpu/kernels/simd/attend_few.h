// Attention of up to kAttendFewRows rows (KernelTable::attend): generated tokens and small batches. Keys and
// values are read straight from the cells, and each vector of them serves all rows. Scores and weights lie
// [cells][lanes], a lane a row, so that the softmax works on all rows at once, from top to bottom.
#pragma once

#include "llm/backend/cpu/kernels/simd/attend_state.h"
#include "llm/backend/cpu/kernels/simd/math.h"

namespace ingot::cpu {
namespace {

// kWhole: heads are whole vectors.
template <typename V, kv::Format kFormat, bool kWhole>
struct FewRows : AttendState<V> {
    using F = typename V::F;
    using AttendState<V>::args, AttendState<V>::task, AttendState<V>::rows, AttendState<V>::width;
    using AttendState<V>::q, AttendState<V>::out, AttendState<V>::maximum, AttendState<V>::total;

    const size_t first;       // element of the cells' rows that the KV head starts at
    const size_t head_bytes;  // about, for prefetching
    const uint32_t lanes;     // 1, 2, 4 or 8
    float* scores;            // [kBlockCells][lanes]

    explicit FewRows(const AttendTask& t)
        : AttendState<V>(t),
          first(size_t(t.kv_head) * args.head_dim),
          head_bytes(args.cell_bytes / args.num_kv_heads),
          lanes(rows > 4   ? 8
                : rows > 2 ? 4
                           : rows),
          scores(this->take(kBlockCells * kAttendFewRows)) {}

    void run() {
        this->for_blocks([&](uint32_t cell, uint32_t count) { block(cell, count); });
        this->store();
    }

  private:
    // Sums that a tile keeps in registers.
    static constexpr uint32_t kSums = V::kFloatTileTokens;

    const unsigned char* key(uint32_t cell) const {
        return static_cast<const unsigned char*>(args.k) + cell * args.cell_bytes;
    }
    const unsigned char* value(uint32_t cell) const {
        return static_cast<const unsigned char*>(args.v) + cell * args.cell_bytes;
    }
    // Elements [i, i + 16) of the head in a cell's row.
    F load(const unsigned char* row, uint32_t i) const {
        if constexpr (kWhole) return Cells<V, kFormat>::load_whole(row, first + i);
        return Cells<V, kFormat>::load(row, first + i, args.head_dim - i);
    }
    void prefetch(const unsigned char* row) const {
        const unsigned char* head = row + task.kv_head * head_bytes;
        for (size_t at = 0; at < head_bytes; at += 64) __builtin_prefetch(head + at);
    }

    void block(uint32_t cell, uint32_t count) {
        static constexpr decltype(&FewRows::multiply_keys<1>) kTiles[] = {
            &FewRows::multiply_keys<1>, &FewRows::multiply_keys<2>, &FewRows::multiply_keys<3>,
            &FewRows::multiply_keys<4>, &FewRows::multiply_keys<5>, &FewRows::multiply_keys<6>,
            &FewRows::multiply_keys<7>, &FewRows::multiply_keys<8>};
        (this->*kTiles[rows - 1])(cell, count);
        const uint32_t padded = (count * lanes + 15) / 16 * 16;
        if (args.softcap != 0) {
            for (uint32_t n = 0; n < padded; n += 16)
                V::store(scores + n, soft_cap<V>(V::load(scores + n), args.softcap));
        }
        for (uint32_t n = count * lanes; n < padded; ++n) scores[n] = -__builtin_inff();
        float shift[16];
        const bool all_seen = hide(cell, count, padded, shift);
        weigh(padded, shift);
        if (!all_seen && !all_finite(cell, count)) return add_weighted(cell, count);
        add_values(cell, count);
    }

    // Scores of the block's cells, zero in unused lanes: partial sums of 16 products, then their sums at
    // once.
    template <uint32_t kRows>
    void multiply_keys(uint32_t cell, uint32_t count) {
        constexpr uint32_t kLanes = kRows > 4 ? 8 : kRows > 2 ? 4 : kRows, kCells = 16 / kLanes;
        F partial[16];
        for (uint32_t n = 0; n < 16; ++n) partial[n] = V::zero();
        for (uint32_t c = 0; c < count; c += kCells) {
            for (uint32_t k = 0; k < kCells && c + k < count; ++k) {
                prefetch(value(cell + c + k));
                const unsigned char* row = key(cell + c + k);
                F sums[kRows];
#pragma GCC unroll 8
                for (uint32_t r = 0; r < kRows; ++r) sums[r] = V::zero();
                for (uint32_t i = 0; i < width; i += 16) {
                    const F x = load(row, i);
#pragma GCC unroll 8
                    for (uint32_t r = 0; r < kRows; ++r)
                        sums[r] = V::fma(x, V::load(q + r * width + i), sums[r]);
                }
#pragma GCC unroll 8
                for (uint32_t r = 0; r < kRows; ++r) partial[k * kLanes + r] = sums[r];
            }
            V::store(scores + c * kLanes, V::sums(partial));
        }
    }

    // -infinity for the cells that a row does not see. Fills in what each lane's scores are taken relative
    // to: the row's new maximum. True if all rows see all cells.
    bool hide(uint32_t cell, uint32_t count, uint32_t padded, float (&shift)[16]) {
        bool all_seen = true;
        bool none_seen[kAttendFewRows] = {};
        for (uint32_t t = 0; t < task.num_tokens; ++t) {
            bool seen[kBlockCells] = {};
            const uint32_t num_seen = this->find_seen(t, cell, count, seen);
            if (num_seen == count) continue;
            all_seen = false;
            for (uint32_t r = t * this->group; r < (t + 1) * this->group; ++r) {
                none_seen[r] = num_seen == 0;
                for (uint32_t c = 0; c < count; ++c) {
                    if (!seen[c]) scores[c * lanes + r] = -__builtin_inff();
                }
            }
        }
        F largest = V::load(scores);
        for (uint32_t n = 16; n < padded; n += 16) largest = V::max(largest, V::load(scores + n));
        float each[16];
        V::store(each, largest);
        for (uint32_t r = 0; r < lanes; ++r) {
            float most = each[r];
            for (uint32_t n = r + lanes; n < 16; n += lanes) most = each[n] > most ? each[n] : most;
            if (r < rows && !none_seen[r]) {
                if (!(most > maximum[r])) most = maximum[r];
                this->raise_maximum(r, most);
            } else {
                most = 0;
            }
            for (uint32_t n = r; n < 16; n += lanes) shift[n] = most;
        }
        return all_seen;
    }

    // Scores become weights. What a row does not see weighs exactly 0.
    void weigh(uint32_t padded, const float (&shift)[16]) {
        const F shifts = V::load(shift);
        F sum = V::zero();
        for (uint32_t n = 0; n < padded; n += 16) {
            const F weight = exp<V>(V::sub(V::load(scores + n), shifts));
            V::store(scores + n, weight);
            sum = V::add(sum, weight);
        }
        float each[16];
        V::store(each, sum);
        for (uint32_t r = 0; r < rows; ++r) {
            for (uint32_t n = r; n < 16; n += lanes) total[r] += each[n];
        }
    }

    bool all_finite(uint32_t cell, uint32_t count) const {
        F zeros = V::zero();
        for (uint32_t c = 0; c < count; ++c) {
            for (uint32_t i = 0; i < width; i += 16)
                zeros = V::fma(load(value(cell + c), i), V::zero(), zeros);
        }
        return V::sum(zeros) == 0;
    }

    // Cell by cell: what has no weight adds nothing. As a product, zero times an infinite value would be no
    // number in rows that may not see the cell.
    void add_weighted(uint32_t cell, uint32_t count) {
        for (uint32_t c = 0; c < count; ++c) {
            for (uint32_t r = 0; r < rows; ++r) {
                const float weight = scores[c * lanes + r];
                if (weight == 0) continue;
                for (uint32_t i = 0; i < width; i += 16) {
                    float* sum = out + r * width + i;
                    V::store(sum, V::fma(load(value(cell + c), i), V::set(weight), V::load(sum)));
                }
            }
        }
    }

    void add_values(uint32_t cell, uint32_t count) {
        using Tile = void (FewRows::*)(uint32_t, uint32_t, uint32_t);
        static constexpr Tile kTiles[] = {&FewRows::value_tiles<1>,
                                          &FewRows::value_tiles<2>,
                                          &FewRows::value_tiles<3>,
                                          &FewRows::value_tiles<4>,
                                          &FewRows::value_tiles<5>,
                                          &FewRows::value_tiles<6>,
                                          &FewRows::value_tiles<(kSums < 7 ? 1 : 7)>,
                                          &FewRows::value_tiles<(kSums < 8 ? 1 : 8)>};
        // Of even sizes: a row alone waits for each of its sums.
        uint32_t tiles = (rows + kSums - 1) / kSums;
        for (uint32_t r = 0, n; r < rows; r += n, --tiles) {
            n = (rows - r + tiles - 1) / tiles;
            (this->*kTiles[n - 1])(r, cell, count);
        }
    }

    template <uint32_t kRows>
    void value_tiles(uint32_t r, uint32_t cell, uint32_t count) {
        constexpr uint32_t kVectors = kSums >= 4 * kRows ? 4 : kSums >= 2 * kRows ? 2 : 1;
        uint32_t i = 0;
        for (; i + kVectors * 16 <= width; i += kVectors * 16) value_tile<kRows, kVectors>(r, cell, count, i);
        for (; i < width; i += 16) value_tile<kRows, 1>(r, cell, count, i);
    }

    // out[r..r + kRows)[i..i + 16 kVectors) += weights * values
    template <uint32_t kRows, uint32_t kVectors>
    void value_tile(uint32_t r, uint32_t cell, uint32_t count, uint32_t i) {
        const float* weights = scores + r;
        float* to = out + r * width + i;
        F sums[kRows][kVectors];
#pragma GCC unroll 8
        for (uint32_t n = 0; n < kRows; ++n) {
#pragma GCC unroll 4
            for (uint32_t v = 0; v < kVectors; ++v) sums[n][v] = V::load(to + n * width + 16 * v);
        }
        const unsigned char* row = value(cell);
        // Once for all rows, the same elements of the next block's keys.
        const unsigned char* ahead =
            r == 0 ? key(cell + kBlockCells) + task.kv_head * head_bytes + head_bytes * i / width : row;
        for (uint32_t c = 0; c < count; ++c, row += args.cell_bytes, weights += lanes) {
            __builtin_prefetch(ahead + c * args.cell_bytes);
#pragma GCC unroll 4
            for (uint32_t v = 0; v < kVectors; ++v) {
                const F x = load(row, i + 16 * v);
#pragma GCC unroll 8
                for (uint32_t n = 0; n < kRows; ++n) sums[n][v] = V::fma(x, V::set(weights[n]), sums[n][v]);
            }
        }
#pragma GCC unroll 8
        for (uint32_t n = 0; n < kRows; ++n) {
#pragma GCC unroll 4
            for (uint32_t v = 0; v < kVectors; ++v) V::store(to + n * width + 16 * v, sums[n][v]);
        }
    }
};

template <typename V, kv::Format kFormat>
void attend_few(const AttendTask& task) {
    if (task.args->head_dim % 16 == 0) return FewRows<V, kFormat, true>(task).run();
    FewRows<V, kFormat, false>(task).run();
}

template <typename V>
void attend_few(const AttendTask& task) {
    switch (task.args->format) {
        case kv::Format::kF32:
            return attend_few<V, kv::Format::kF32>(task);
        case kv::Format::kF16:
            return attend_few<V, kv::Format::kF16>(task);
        case kv::Format::kQ8_0:
            return attend_few<V, kv::Format::kQ8_0>(task);
    }
}

}  // namespace
}  // namespace ingot::cpu
