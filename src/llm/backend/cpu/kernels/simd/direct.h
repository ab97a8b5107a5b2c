// Few tokens: codes are unpacked in registers and multiplied at once with a tile of tokens, so that the
// packed weights are read once, in order.
#pragma once

#include "llm/backend/cpu/kernels/mat_mul.h"
#include "llm/backend/cpu/kernels/simd/codes.h"
#include "llm/backend/cpu/kernels/simd/quantize.h"

namespace ingot::cpu {
namespace {

// Bytes ahead of the reading position that are asked for (measured: the hardware prefetchers alone leave up
// to a sixth of the bandwidth unused on the short units); 0: none.
template <QuantType kType>
constexpr uint32_t kPrefetchBytes = group_layout(kType).block == 256              ? 0
                                    : group_layout(kType).high != HighBits::kNone ? 5 * 352
                                                                                  : 7 * 320;

template <typename V, QuantType kType, uint32_t kTokens>
struct DirectProduct {
    using T = Traits<V, kType>;
    using F = typename V::F;
    using I = typename V::I;
    using Dot = typename V::template Dot<T::kSigned ? 255 : T::kLayout.max_code>;
    using Format = ActivationFormat<T::kOffset, T::kHalves>;
    static constexpr uint32_t kParts = T::kParts;

    // sums[kTokens] of one group, all of K.
    static inline __attribute__((always_inline)) void group(const std::byte* group, uint32_t cols,
                                                            const std::byte* activations, F* sums) {
        constexpr uint32_t kUnitBytes = T::kLayout.unit_bytes();
        for (uint32_t t = 0; t < kTokens; ++t) sums[t] = V::zero();
        for (uint32_t k = 0; k < cols; k += T::kLayout.block, group += kUnitBytes) {
            if constexpr (kPrefetchBytes<kType> != 0) {
#pragma GCC unroll 9
                for (uint32_t at = 0; at < kUnitBytes; at += 64) {
                    __builtin_prefetch(group + kPrefetchBytes<kType> + at, 0, 2);
                }
            }
            const UnitScales<V, kType> scales(group);
            const std::byte* slice = group + T::kLayout.header_bytes;
            for (uint32_t s = 0; s < T::kLayout.slices(); ++s) {
                F d[2], m[2];
                scales.slice(s, slice, d, m);
                multiply_slice(slice + T::kLayout.sub_bytes(), record_at<Format, kTokens>(activations), d, m,
                               sums);
                slice += T::kLayout.slice_bytes();
                activations += kTokens * Format::kTokenBytes;
            }
        }
    }

  private:
    static I start(const RecordView& record, uint32_t part, uint32_t t) {
        if constexpr (T::kOffset != 0) return V::set_ints(record.start[part * kTokens + t]);
        return V::set_ints(0);
    }

    static inline __attribute__((always_inline)) void multiply_slice(const std::byte* codes,
                                                                     const RecordView& record, const F* d,
                                                                     const F* m, F* sums) {
        const SliceCodes<V, kType> slice(codes);
        if constexpr (kParts == 1) {
            Dot dots[kTokens] = {};
#pragma GCC unroll 6
            for (uint32_t t = 0; t < kTokens; ++t) dots[t] = Dot(start(record, 0, t));
            step_both<0>(slice, record, dots, dots);
            step_both<1>(slice, record, dots, dots);
            step_both<2>(slice, record, dots, dots);
            step_both<3>(slice, record, dots, dots);
            finish(record, 0, d, m, dots, sums);
        } else {
            Dot first[kTokens] = {}, second[kTokens] = {};
#pragma GCC unroll 6
            for (uint32_t t = 0; t < kTokens; ++t) {
                first[t] = Dot(start(record, 0, t));
                second[t] = Dot(start(record, 1, t));
            }
            step_both<0>(slice, record, first, second);
            step_both<1>(slice, record, first, second);
            step_both<2>(slice, record, first, second);
            step_both<3>(slice, record, first, second);
            finish(record, 0, d, m, first, sums);
            finish(record, 1, d, m, second, sums);
        }
    }

    template <int j>
    static inline __attribute__((always_inline)) void step_both(const SliceCodes<V, kType>& slice,
                                                                const RecordView& record, Dot* first,
                                                                Dot* second) {
        I a, b;
        slice.template pair<j>(a, b);
#pragma GCC unroll 6
        for (uint32_t t = 0; t < kTokens; ++t) first[t].step(a, V::broadcast(record.codes + 32 * t + 4 * j));
#pragma GCC unroll 6
        for (uint32_t t = 0; t < kTokens; ++t)
            second[t].step(b, V::broadcast(record.codes + 32 * t + 16 + 4 * j));
    }

    static inline __attribute__((always_inline)) void finish(const RecordView& record, uint32_t part,
                                                             const F* d, const F* m, Dot* dots, F* sums) {
#pragma GCC unroll 6
        for (uint32_t t = 0; t < kTokens; ++t) {
            const F products = V::mul(V::from_int(dots[t].total()), d[part]);
            sums[t] = V::fma(products, V::set(record.scale[t]), sums[t]);
            if constexpr (T::kLayout.has_min) {
                sums[t] = V::fma(m[part], V::set(record.scaled_sum[part * kTokens + t]), sums[t]);
            }
        }
    }
};

// Stores sums of a group that has `num_rows` valid rows.
template <typename V>
inline void store_rows(float* y, uint32_t num_rows, typename V::F sums) {
    if (num_rows >= kGroupRows) {
        V::store(y, sums);
    } else {
        V::store_first(y, num_rows, sums);
    }
}

template <typename V, QuantType kType, uint32_t kTokens>
void multiply_tile_direct(const std::byte* group, uint32_t num_rows, uint32_t cols,
                          const std::byte* activations, float* y, size_t y_stride) {
    typename V::F sums[kTokens];
    DirectProduct<V, kType, kTokens>::group(group, cols, activations, sums);
    for (uint32_t t = 0; t < kTokens; ++t) store_rows<V>(y + t * y_stride, num_rows, sums[t]);
}

// A group times all tokens of a small batch, tile by tile: from the second tile on it comes from the cache.
template <typename V, QuantType kType>
void multiply_direct(const MultiplyArgs& args) {
    using T = Traits<V, kType>;
    using Format = ActivationFormat<T::kOffset, T::kHalves>;
    using Tile = void (*)(const std::byte*, uint32_t, uint32_t, const std::byte*, float*, size_t);
    constexpr auto kMost = V::kDirectTileTokens;
    static constexpr Tile kTiles[] = {
        multiply_tile_direct<V, kType, 1>,
        multiply_tile_direct<V, kType, (kMost < 2 ? kMost : 2)>,
        multiply_tile_direct<V, kType, (kMost < 3 ? kMost : 3)>,
        multiply_tile_direct<V, kType, (kMost < 4 ? kMost : 4)>,
        multiply_tile_direct<V, kType, (kMost < 5 ? kMost : 5)>,
        multiply_tile_direct<V, kType, (kMost < 6 ? kMost : 6)>,
    };
    const size_t group_bytes = size_t(args.cols) / T::kLayout.block * T::kLayout.unit_bytes();
    const size_t token_bytes = Format::bytes(args.cols);
    for (uint32_t row = 0; row < args.num_rows; row += kGroupRows) {
        const std::byte* group = args.weights + row / kGroupRows * group_bytes;
        for (uint32_t t = 0; t < args.num_tokens; t += V::kDirectTileTokens) {
            const uint32_t left = args.num_tokens - t;
            const uint32_t count = left < V::kDirectTileTokens ? left : V::kDirectTileTokens;
            kTiles[count - 1](group, args.num_rows - row, args.cols, args.activations + t * token_bytes,
                              args.y + row + t * args.y_stride, args.y_stride);
        }
    }
}

}  // namespace
}  // namespace ingot::cpu
