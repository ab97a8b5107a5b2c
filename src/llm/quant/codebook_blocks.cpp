// IQ4_NL and MXFP4: blocks of 32 four-bit indices into a fixed table of 16 values.
// Layouts: IQ4_NL half d, qs[16]; MXFP4 (OCP microscaling) one power-of-two exponent byte e, qs[16]. Nibbles
// as in small_blocks.cpp.
#include <algorithm>
#include <cmath>

#include "llm/quant/blocks.h"
#include "llm/quant/conversions.h"
#include "llm/quant/search.h"

namespace ingot::quant {
namespace {

// The sixteen levels of IQ4_NL, denser near zero (GGUF specification of the type).
constexpr int8_t kNonlinearLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
// Twice the values of E2M1, which makes them whole numbers; the scale below is halved to match.
constexpr int8_t kDoubledE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of 2^(e - 127). The two smallest exponents give subnormal floats.
float half_of_e8m0(uint8_t e) {
    return std::bit_cast<float>(e < 2 ? uint32_t(0x00200000) << e : uint32_t(e - 1) << 23);
}

void look_up(const int8_t (&table)[16], float scale, const std::byte* nibbles, float* values) {
    for (size_t j = 0; j < kSmallBlock / 2; ++j) {
        const uint8_t byte = load_byte(nibbles + j);
        values[j] = scale * float(table[low_nibble(byte)]);
        values[j + kSmallBlock / 2] = scale * float(table[high_nibble(byte)]);
    }
}

int nearest_nonlinear(float value) {
    const int8_t* levels = kNonlinearLevels;
    if (value <= float(levels[0])) return 0;
    if (value >= float(levels[15])) return 15;
    const int above = int(std::upper_bound(levels + 1, levels + 15, value,
                                           [](float v, int8_t level) { return v < float(level); }) -
                          levels);
    return value - float(levels[above - 1]) < float(levels[above]) - value ? above - 1 : above;
}

int nearest_e2m1(float value, float scale) {
    const auto distance = [&](int code) { return std::fabs(float(kDoubledE2M1[code]) * scale - value); };
    int best = 0;
    for (int code = 1; code < 16; ++code) {
        if (distance(code) < distance(best)) best = code;
    }
    return best;
}

// Least squares with weights x^2: the scale that fits best given the levels that `inverse` picks is
// numerator / denominator, and numerator^2 / denominator is what it explains.
struct Fit {
    float numerator = 0.0f;
    float denominator = 0.0f;
};

Fit fit_nonlinear(const float* values, float inverse) {
    Fit fit;
    for (size_t j = 0; j < kSmallBlock; ++j) {
        const float level = float(kNonlinearLevels[nearest_nonlinear(inverse * values[j])]);
        const float weight = values[j] * values[j];
        fit.numerator += weight * level * values[j];
        fit.denominator += weight * level * level;
    }
    return fit;
}

// Tries the scales at which the extreme value lands on or near the lowest level.
float search_nonlinear_scale(const float* values) {
    constexpr int kTries = 7;
    const float extreme = extreme_of(values, kSmallBlock);
    if (std::fabs(extreme) < kNegligible) return 0.0f;
    const float lowest = float(kNonlinearLevels[0]);
    const float first = -extreme / lowest;
    Fit fit = fit_nonlinear(values, 1.0f / first);
    float scale = fit.denominator > 0.0f ? fit.numerator / fit.denominator : 0.0f;
    float explained = scale * fit.numerator;
    for (int shift = -kTries; shift <= kTries; ++shift) {
        fit = fit_nonlinear(values, (float(shift) + lowest) / extreme);
        if (fit.denominator > 0.0f && fit.numerator * fit.numerator > explained * fit.denominator) {
            scale = fit.numerator / fit.denominator;
            explained = scale * fit.numerator;
        }
    }
    return scale;
}

// The exponent that puts the extreme value's power of two at that of 4, the largest of E2M1. Below 0 it
// wraps, as the reference result does: such blocks hold subnormal floats and decode to zeros. But -1 would be
// 255, which stands for NaN, and 0 serves as well.
int shared_exponent(float magnitude) {
    if (!(magnitude > 0.0f)) return 0;
    const int exponent = truncate_to_int(std::floor(std::log2(magnitude)) - 2.0f + 127.0f);
    return exponent == -1 ? 0 : exponent;
}

constexpr size_t kNonlinearBytes = 18;
constexpr size_t kMxfp4Bytes = 17;

}  // namespace

void dequantize_iq4_nl(const std::byte* blocks, float* values, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kNonlinearBytes) {
        look_up(kNonlinearLevels, load_half(blocks), blocks + 2, values);
    }
}

void dequantize_mxfp4(const std::byte* blocks, float* values, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kMxfp4Bytes) {
        look_up(kDoubledE2M1, half_of_e8m0(load_byte(blocks)), blocks + 1, values);
    }
}

void quantize_iq4_nl(const float* values, std::byte* blocks, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kNonlinearBytes) {
        const float scale = search_nonlinear_scale(values);
        const float inverse = inverse_or_zero(scale);
        store_half(blocks, scale);
        for (size_t j = 0; j < kSmallBlock / 2; ++j) {
            blocks[2 + j] = pack_nibbles(nearest_nonlinear(inverse * values[j]),
                                         nearest_nonlinear(inverse * values[j + kSmallBlock / 2]));
        }
    }
}

void quantize_mxfp4(const float* values, std::byte* blocks, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kMxfp4Bytes) {
        store_byte(blocks, shared_exponent(std::fabs(extreme_of(values, kSmallBlock))));
        const float scale = half_of_e8m0(load_byte(blocks));
        for (size_t j = 0; j < kSmallBlock / 2; ++j) {
            blocks[1 + j] = pack_nibbles(nearest_e2m1(values[j], scale),
                                         nearest_e2m1(values[j + kSmallBlock / 2], scale));
        }
    }
}

}  // namespace ingot::quant
