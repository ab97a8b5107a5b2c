// Activations as the quantized kernels read them: signed bytes in runs of 32 with one scale, in tiles of a
// few tokens so that a tile's bytes, scales and sums for a run lie side by side.
#pragma once

#include "llm/backend/cpu/kernels/groups/layout.h"
#include "llm/backend/cpu/kernels/mat_mul.h"

namespace ingot::cpu {
namespace {

// A record for 32 elements of a tile of n tokens: s8 [n][32]; f32 scale [n]; f32 scale * sum of the codes
// [parts][n]; i32 -offset * sum of the codes [parts][n]. Two parts, of 16 elements each, if weight scales
// change every 16.
template <int kOffset, bool kHalves>
struct ActivationFormat {
    static constexpr uint32_t kParts = kHalves ? 2 : 1;
    static constexpr uint32_t kTokenBytes = 32 + 4 + 8 * kParts;  // of a record
    static constexpr uint32_t kId = 1 + uint32_t(kOffset) * 2 + kHalves;

    static size_t bytes(uint32_t cols) { return size_t(cols) / 32 * kTokenBytes; }
};

// The part of a record that follows the codes.
struct RecordView {
    const int8_t* codes;      // [n][32]
    const float* scale;       // [n]
    const float* scaled_sum;  // [parts][n]
    const int32_t* start;     // [parts][n]
};

template <typename Format, uint32_t kTokens>
inline RecordView record_at(const std::byte* record) {
    const auto* scale = reinterpret_cast<const float*>(record + 32 * kTokens);
    const auto* start = reinterpret_cast<const int32_t*>(scale + kTokens * (1 + Format::kParts));
    return {reinterpret_cast<const int8_t*>(record), scale, scale + kTokens, start};
}

template <typename V, int kOffset, bool kHalves>
void quantize_tile(const float* x, size_t x_stride, uint32_t cols, uint32_t num_tokens, std::byte* tile) {
    using Format = ActivationFormat<kOffset, kHalves>;
    for (uint32_t t = 0; t < num_tokens; ++t, x += x_stride) {
        std::byte* record = tile;
        for (uint32_t k = 0; k < cols; k += 32, record += num_tokens * Format::kTokenBytes) {
            const auto a = V::load(x + k), b = V::load(x + k + 16);
            const float largest = V::largest(V::max(V::abs(a), V::abs(b)));
            // A block of numbers so small that 127 over them overflows has scale zero, as a block of zeros.
            // What isn't finite has no codes, but a scale that says so in every result.
            const bool finite = largest <= 3.4028235e38f && !V::any_nan(a, b);
            const bool normal = largest >= 4e-37f;
            const float inverse = normal ? 127 / largest : 0;
            const float scale = !finite ? __builtin_nanf("") : normal ? largest / 127 : 0;
            int sums[2];
            V::quantize(a, b, inverse, reinterpret_cast<int8_t*>(record) + 32 * t, sums[0], sums[1]);
            if (!finite) sums[0] = sums[1] = 0;
            auto* floats = reinterpret_cast<float*>(record + 32 * num_tokens);
            auto* ints = reinterpret_cast<int32_t*>(floats + num_tokens * (1 + Format::kParts));
            floats[t] = scale;
            if constexpr (!kHalves) sums[0] += sums[1];
            for (uint32_t part = 0; part < Format::kParts; ++part) {
                floats[num_tokens * (1 + part) + t] = scale * float(sums[part]);
                ints[num_tokens * part + t] = -kOffset * sums[part];
            }
        }
    }
}

}  // namespace
}  // namespace ingot::cpu
