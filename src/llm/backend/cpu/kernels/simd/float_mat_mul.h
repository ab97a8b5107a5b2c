// F32, F16 and BF16 weights: read from the GGUF rows as they are, multiplied in float, so that the result is
// as exact as the plain kernels'. Few tokens: a dot product a row. Many: sixteen rows are transposed into a
// panel of floats, slice of K by slice, and tiles of tokens run over it.
#pragma once

#include "llm/backend/cpu/kernels/mat_mul.h"
#include "llm/backend/cpu/kernels/simd/direct.h"

namespace ingot::cpu {
namespace {

constexpr uint32_t kFloatDirectTokens = 4;
constexpr uint32_t kFloatPanelColumns = 256;  // 16 KiB of panel: half of a first-level cache

template <typename V, QuantType kType>
struct FloatRows {
    static constexpr uint32_t kElementBytes = kType == QuantType::kF32 ? 4 : 2;

    // Sixteen elements of a row, or its first n.
    static typename V::F load(const std::byte* row, uint32_t k) {
        const std::byte* at = row + size_t(k) * kElementBytes;
        if constexpr (kType == QuantType::kF32) return V::load(reinterpret_cast<const float*>(at));
        if constexpr (kType == QuantType::kF16) return V::load_halves(at);
        if constexpr (kType == QuantType::kBF16) return V::load_bfloats(at);
    }
    static typename V::F load_first(const std::byte* row, uint32_t k, uint32_t n) {
        alignas(64) std::byte padded[16 * kElementBytes] = {};
        __builtin_memcpy(padded, row + size_t(k) * kElementBytes, n * kElementBytes);
        return load(padded, 0);
    }
};

// Dot products of one row with kTokens tokens.
template <typename V, QuantType kType, uint32_t kTokens>
void multiply_row(const std::byte* row, uint32_t cols, const float* x, size_t x_stride, float* y,
                  size_t y_stride) {
    using W = FloatRows<V, kType>;
    typename V::F sums[kTokens][2];
    for (uint32_t t = 0; t < kTokens; ++t) sums[t][0] = sums[t][1] = V::zero();
    uint32_t k = 0;
    for (; k + 32 <= cols; k += 32) {
        const auto a = W::load(row, k), b = W::load(row, k + 16);
#pragma GCC unroll 4
        for (uint32_t t = 0; t < kTokens; ++t) {
            sums[t][0] = V::fma(a, V::load(x + t * x_stride + k), sums[t][0]);
            sums[t][1] = V::fma(b, V::load(x + t * x_stride + k + 16), sums[t][1]);
        }
    }
    for (; k < cols; k += 16) {
        const uint32_t n = cols - k;
        const auto a = n < 16 ? W::load_first(row, k, n) : W::load(row, k);
        for (uint32_t t = 0; t < kTokens; ++t) {
            const float* at = x + t * x_stride + k;
            sums[t][0] = V::fma(a, n < 16 ? V::load_first(at, n) : V::load(at), sums[t][0]);
        }
    }
    for (uint32_t t = 0; t < kTokens; ++t) y[t * y_stride] = V::sum(V::add(sums[t][0], sums[t][1]));
}

// Sixteen rows (the missing ones zero), elements [first, first + count), as float [count][16].
template <typename V, QuantType kType>
void transpose_rows(const std::byte* rows, size_t row_bytes, uint32_t num_rows, uint32_t first,
                    uint32_t count, float* panel) {
    using W = FloatRows<V, kType>;
    for (uint32_t k = 0; k < count; k += 16) {
        const uint32_t n = count - k < 16 ? count - k : 16;
        typename V::F block[16];
        for (uint32_t r = 0; r < 16; ++r) {
            const std::byte* row = rows + r * row_bytes;
            block[r] = r >= num_rows ? V::zero()
                       : n < 16      ? W::load_first(row, first + k, n)
                                     : W::load(row, first + k);
        }
        V::transpose(block, panel + k * 16);  // beyond n it writes zeros, into the panel's own space
    }
}

// kTokens tokens by sixteen rows over `count` elements; adds to sums [kTokens][16].
template <typename V, uint32_t kTokens>
void multiply_float_tile(const float* panel, uint32_t count, const float* x, size_t x_stride, float* sums) {
    typename V::F f[kTokens];
#pragma GCC unroll 12
    for (uint32_t t = 0; t < kTokens; ++t) f[t] = V::load(sums + t * 16);
    for (uint32_t k = 0; k < count; ++k) {
        const auto w = V::load(panel + k * 16);
#pragma GCC unroll 12
        for (uint32_t t = 0; t < kTokens; ++t) f[t] = V::fma(w, V::set(x[t * x_stride + k]), f[t]);
    }
#pragma GCC unroll 12
    for (uint32_t t = 0; t < kTokens; ++t) V::store(sums + t * 16, f[t]);
}

template <typename V, QuantType kType>
void multiply_float_group(const MultiplyArgs& args, uint32_t row) {
    constexpr uint32_t kTile = V::kFloatTileTokens;
    const size_t row_bytes = size_t(args.cols) * FloatRows<V, kType>::kElementBytes;
    const uint32_t rows = args.num_rows - row < kGroupRows ? args.num_rows - row : kGroupRows;
    const auto* x = reinterpret_cast<const float*>(args.activations);
    auto* panel = reinterpret_cast<float*>(args.scratch);
    for (uint32_t first = 0; first < args.cols; first += kFloatPanelColumns) {
        const uint32_t left = args.cols - first;
        const uint32_t count = left < kFloatPanelColumns ? left : kFloatPanelColumns;
        transpose_rows<V, kType>(args.weights + row * row_bytes, row_bytes, rows, first, count, panel);
        for (uint32_t t = 0; t < args.num_tokens;) {
            alignas(64) float sums[kTile * 16];
            const uint32_t tokens = args.num_tokens - t < kTile ? 1 : kTile;
            float* y = args.y + row + t * args.y_stride;
            for (uint32_t i = 0; i < tokens; ++i) {
                const float* from = y + i * args.y_stride;
                const auto so_far = first == 0           ? V::zero()
                                    : rows == kGroupRows ? V::load(from)
                                                         : V::load_first(from, rows);
                V::store(sums + i * 16, so_far);
            }
            const float* tile = x + t * args.activation_stride + first;
            if (tokens == kTile) {
                multiply_float_tile<V, kTile>(panel, count, tile, args.activation_stride, sums);
            } else {
                multiply_float_tile<V, 1>(panel, count, tile, args.activation_stride, sums);
            }
            for (uint32_t i = 0; i < tokens; ++i) {
                store_rows<V>(y + i * args.y_stride, rows, V::load(sums + i * 16));
            }
            t += tokens;
        }
    }
}

template <typename V, QuantType kType>
void multiply_floats(const MultiplyArgs& args) {
    using Row = void (*)(const std::byte*, uint32_t, const float*, size_t, float*, size_t);
    static constexpr Row kRowTimesTokens[] = {multiply_row<V, kType, 1>, multiply_row<V, kType, 2>,
                                              multiply_row<V, kType, 3>, multiply_row<V, kType, 4>};
    if (!args.direct) {
        for (uint32_t row = 0; row < args.num_rows; row += kGroupRows)
            multiply_float_group<V, kType>(args, row);
        return;
    }
    const size_t row_bytes = size_t(args.cols) * FloatRows<V, kType>::kElementBytes;
    for (uint32_t row = 0; row < args.num_rows; ++row) {
        kRowTimesTokens[args.num_tokens - 1](args.weights + row * row_bytes, args.cols,
                                             reinterpret_cast<const float*>(args.activations),
                                             args.activation_stride, args.y + row, args.y_stride);
    }
}

inline size_t float_scratch_bytes(uint32_t) {
    return kFloatPanelColumns * kGroupRows * sizeof(float);
}

template <typename V, QuantType kType>
constexpr MatMulKernel float_kernel(const char* name) {
    return {.type = kType,
            .name = name,
            .group_bytes = nullptr,
            .pack_group = nullptr,
            .activation_format = 0,
            .activation_bytes = nullptr,
            .quantize = nullptr,
            .tile_tokens = V::kFloatTileTokens,
            .direct_tile_tokens = kFloatDirectTokens,
            .max_direct_tokens = kFloatDirectTokens,
            .scratch_bytes = float_scratch_bytes,
            .multiply = multiply_floats<V, kType>};
}

}  // namespace
}  // namespace ingot::cpu
