// Many tokens: some groups are unpacked once into a panel of plain bytes and float scales, slice of K by
// slice of K, and all tiles of tokens run over it while it is in the first-level cache.
#pragma once

#include "llm/backend/cpu/kernels/simd/direct.h"

namespace ingot::cpu {
namespace {

// A panel: for each 32 elements bytes [8][groups][64], then f32 d [parts][groups][16] and m likewise.
template <typename V, QuantType kType, uint32_t kGroups>
struct Panel {
    using T = Traits<V, kType>;
    using F = typename V::F;
    using I = typename V::I;
    using Format = ActivationFormat<T::kOffset, T::kHalves>;
    static constexpr uint32_t kParts = T::kParts;
    static constexpr uint32_t kScaleVectors = kParts * (T::kLayout.has_min ? 2 : 1);
    static constexpr uint32_t kSliceBytes = kGroups * (512 + 64 * kScaleVectors);

    static float* scale_at(std::byte* slice, uint32_t vector, uint32_t g) {
        return reinterpret_cast<float*>(slice + kGroups * 512) + (vector * kGroups + g) * 16;
    }

    // Elements [first, end) of K, whole units, of group g.
    static void unpack(const std::byte* group, uint32_t first, uint32_t end, uint32_t g, std::byte* panel) {
        group += size_t(first) / T::kLayout.block * T::kLayout.unit_bytes();
        for (uint32_t k = first; k < end; k += T::kLayout.block, group += T::kLayout.unit_bytes()) {
            const UnitScales<V, kType> scales(group);
            const std::byte* slice = group + T::kLayout.header_bytes;
            for (uint32_t s = 0; s < T::kLayout.slices(); ++s, panel += kSliceBytes) {
                F d[2], m[2];
                scales.slice(s, slice, d, m);
                const SliceCodes<V, kType> codes(slice + T::kLayout.sub_bytes());
                unpack_pair<0>(codes, g, panel);
                unpack_pair<1>(codes, g, panel);
                unpack_pair<2>(codes, g, panel);
                unpack_pair<3>(codes, g, panel);
                for (uint32_t part = 0; part < kParts; ++part) {
                    V::store(scale_at(panel, part, g), d[part]);
                    if constexpr (T::kLayout.has_min) V::store(scale_at(panel, kParts + part, g), m[part]);
                }
                slice += T::kLayout.slice_bytes();
            }
        }
    }

  private:
    template <int j>
    static void unpack_pair(const SliceCodes<V, kType>& codes, uint32_t g, std::byte* panel) {
        I a, b;
        codes.template pair<j>(a, b);
        V::store_bytes(panel + (j * kGroups + g) * 64, a);
        V::store_bytes(panel + ((j + 4) * kGroups + g) * 64, b);
    }
};

// One tile: kTokens tokens by kGroups groups over num_slices slices of the panel. sums is
// [kTokens][kGroups][16].
template <typename V, QuantType kType, uint32_t kGroups, uint32_t kTokens>
void multiply_panel_tile(const std::byte* panel, const std::byte* activations, uint32_t num_slices,
                         float* sums) {
    using P = Panel<V, kType, kGroups>;
    using T = typename P::T;
    using F = typename V::F;
    using Dot = typename V::template Dot<T::kSigned ? 255 : T::kLayout.max_code>;
    F f[kTokens][kGroups];
#pragma GCC unroll 8
    for (uint32_t t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
        for (uint32_t g = 0; g < kGroups; ++g) f[t][g] = V::load(sums + (t * kGroups + g) * 16);
    }
    for (uint32_t slice = 0; slice < num_slices; ++slice) {
        const RecordView record = record_at<typename P::Format, kTokens>(activations);
        const auto* scales = reinterpret_cast<const float*>(panel + kGroups * 512);
#pragma GCC unroll 2
        for (uint32_t part = 0; part < P::kParts; ++part) {
            Dot dots[kTokens][kGroups] = {};
#pragma GCC unroll 8
            for (uint32_t t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
                for (uint32_t g = 0; g < kGroups; ++g) {
                    dots[t][g] = Dot(V::set_ints(T::kOffset == 0 ? 0 : record.start[part * kTokens + t]));
                }
            }
            constexpr uint32_t kSteps = 8 / P::kParts;
#pragma GCC unroll 8
            for (uint32_t j = 0; j < kSteps; ++j) {
                const uint32_t column = part * kSteps + j;
                typename V::I w[kGroups];
#pragma GCC unroll 2
                for (uint32_t g = 0; g < kGroups; ++g)
                    w[g] = V::load_bytes(panel + (column * kGroups + g) * 64);
#pragma GCC unroll 8
                for (uint32_t t = 0; t < kTokens; ++t) {
                    const auto x = V::broadcast(record.codes + 32 * t + 4 * column);
#pragma GCC unroll 2
                    for (uint32_t g = 0; g < kGroups; ++g) dots[t][g].step(w[g], x);
                }
            }
#pragma GCC unroll 8
            for (uint32_t t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
                for (uint32_t g = 0; g < kGroups; ++g) {
                    const F d = V::load(scales + (part * kGroups + g) * 16);
                    f[t][g] =
                        V::fma(V::mul(V::from_int(dots[t][g].total()), d), V::set(record.scale[t]), f[t][g]);
                    if constexpr (T::kLayout.has_min) {
                        const F m = V::load(scales + ((P::kParts + part) * kGroups + g) * 16);
                        f[t][g] = V::fma(m, V::set(record.scaled_sum[part * kTokens + t]), f[t][g]);
                    }
                }
            }
        }
        panel += P::kSliceBytes;
        activations += kTokens * P::Format::kTokenBytes;
    }
#pragma GCC unroll 8
    for (uint32_t t = 0; t < kTokens; ++t) {
#pragma GCC unroll 2
        for (uint32_t g = 0; g < kGroups; ++g) V::store(sums + (t * kGroups + g) * 16, f[t][g]);
    }
}

// A panel of kGroups groups (the last may have few rows) times all tokens.
template <typename V, QuantType kType, uint32_t kGroups>
void multiply_panel(const MultiplyArgs& args, uint32_t row) {
    using P = Panel<V, kType, kGroups>;
    using T = typename P::T;
    constexpr uint32_t kTile = V::kTileTokens;
    using Tile = void (*)(const std::byte*, const std::byte*, uint32_t, float*);
    static constexpr Tile kTiles[] = {
        multiply_panel_tile<V, kType, kGroups, 1>,
        multiply_panel_tile<V, kType, kGroups, (kTile < 2 ? kTile : 2)>,
        multiply_panel_tile<V, kType, kGroups, (kTile < 3 ? kTile : 3)>,
        multiply_panel_tile<V, kType, kGroups, (kTile < 4 ? kTile : 4)>,
        multiply_panel_tile<V, kType, kGroups, (kTile < 5 ? kTile : 5)>,
        multiply_panel_tile<V, kType, kGroups, (kTile < 6 ? kTile : 6)>,
    };
    const size_t group_bytes = size_t(args.cols) / T::kLayout.block * T::kLayout.unit_bytes();
    const size_t token_bytes = P::Format::bytes(args.cols);
    const std::byte* weights = args.weights + row / kGroupRows * group_bytes;
    for (uint32_t first = 0; first < args.cols; first += V::kPanelColumns) {
        const uint32_t end = args.cols - first < V::kPanelColumns ? args.cols : first + V::kPanelColumns;
        for (uint32_t g = 0; g < kGroups; ++g)
            P::unpack(weights + g * group_bytes, first, end, g, args.scratch);
        for (uint32_t t = 0; t < args.num_tokens; t += kTile) {
            const uint32_t count = args.num_tokens - t < kTile ? args.num_tokens - t : kTile;
            alignas(64) float sums[kTile * kGroups * 16];
            float* y = args.y + row + t * args.y_stride;
            for (uint32_t i = 0; i < count; ++i) {
                for (uint32_t g = 0; g < kGroups; ++g) {
                    const uint32_t at = g * kGroupRows, rows = args.num_rows - row - at;
                    const float* from = y + i * args.y_stride + at;
                    const auto so_far = first == 0           ? V::zero()
                                        : rows >= kGroupRows ? V::load(from)
                                                             : V::load_first(from, rows);
                    V::store(sums + (i * kGroups + g) * 16, so_far);
                }
            }
            const std::byte* records =
                args.activations + t * token_bytes + size_t(first) / 32 * count * P::Format::kTokenBytes;
            kTiles[count - 1](args.scratch, records, (end - first) / 32, sums);
            for (uint32_t i = 0; i < count; ++i) {
                for (uint32_t g = 0; g < kGroups; ++g) {
                    store_rows<V>(y + i * args.y_stride + g * kGroupRows,
                                  args.num_rows - row - g * kGroupRows,
                                  V::load(sums + (i * kGroups + g) * 16));
                }
            }
        }
    }
}

template <typename V, QuantType kType>
void multiply_batch(const MultiplyArgs& args) {
    constexpr uint32_t kRows = V::kPanelGroups * kGroupRows;
    uint32_t row = 0;
    for (; row + kRows <= (args.num_rows + kGroupRows - 1) / kGroupRows * kGroupRows; row += kRows) {
        multiply_panel<V, kType, V::kPanelGroups>(args, row);
    }
    for (; row < args.num_rows; row += kGroupRows) multiply_panel<V, kType, 1>(args, row);
}

// The largest panel: unit scales may be of a larger block than is left of K, so columns are a multiple of
// 256.
template <typename V, QuantType kType>
size_t panel_scratch_bytes(uint32_t cols) {
    const uint32_t columns = cols < V::kPanelColumns ? cols : V::kPanelColumns;
    return size_t(columns) / 32 * Panel<V, kType, V::kPanelGroups>::kSliceBytes;
}

}  // namespace
}  // namespace ingot::cpu
