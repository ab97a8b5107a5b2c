// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: blocks of 32 with one scale, and a minimum for the _1 types.
// Layouts: Q4_0 d qs[16]; Q4_1 d m qs[16]; Q5_0 d qh[4] qs[16]; Q5_1 d m qh[4] qs[16]; Q8_0 d int8[32]; d and
// m are halves. Byte j of qs holds element j in its low nibble and element j + 16 in its high one; bit j of
// qh is the fifth bit of element j.
#include <algorithm>
#include <cmath>

#include "llm/quant/blocks.h"
#include "llm/quant/conversions.h"
#include "llm/quant/search.h"

namespace ingot::quant {
namespace {

struct Layout {
    int bits;      // 4 or 5
    bool minimum;  // an unsigned code above a minimum, instead of a code around zero

    constexpr size_t high_bits_at() const { return minimum ? 4 : 2; }
    constexpr size_t codes_at() const { return high_bits_at() + (bits == 5 ? 4 : 0); }
    constexpr size_t block_bytes() const { return codes_at() + kSmallBlock / 2; }
};

template <Layout kLayout>
void unpack_codes(const std::byte* block, int (&codes)[kSmallBlock]) {
    const std::byte* nibbles = block + kLayout.codes_at();
    for (size_t j = 0; j < kSmallBlock / 2; ++j) {
        codes[j] = low_nibble(load_byte(nibbles + j));
        codes[j + kSmallBlock / 2] = high_nibble(load_byte(nibbles + j));
    }
    if constexpr (kLayout.bits == 5) {
        const uint32_t high = load_u32(block + kLayout.high_bits_at());
        for (size_t j = 0; j < kSmallBlock; ++j) codes[j] |= int(high >> j & 1u) << 4;
    }
}

template <Layout kLayout>
void dequantize(const std::byte* blocks, float* values, size_t count) {
    int codes[kSmallBlock];
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kLayout.block_bytes()) {
        unpack_codes<kLayout>(blocks, codes);
        const float scale = load_half(blocks);
        const float minimum = kLayout.minimum ? load_half(blocks + 2) : 0.0f;
        constexpr int kZero = kLayout.minimum ? 0 : 1 << (kLayout.bits - 1);
        for (size_t j = 0; j < kSmallBlock; ++j) {
            const float value = float(codes[j] - kZero) * scale;
            values[j] = kLayout.minimum ? value + minimum : value;
        }
    }
}

template <Layout kLayout>
void pack_codes(const int (&codes)[kSmallBlock], std::byte* block) {
    std::byte* nibbles = block + kLayout.codes_at();
    for (size_t j = 0; j < kSmallBlock / 2; ++j) {
        nibbles[j] = pack_nibbles(codes[j] & 15, codes[j + kSmallBlock / 2] & 15);
    }
    if constexpr (kLayout.bits == 5) {
        uint32_t high = 0;
        for (size_t j = 0; j < kSmallBlock; ++j) high |= uint32_t(codes[j] >> 4 & 1) << j;
        store_u32(block + kLayout.high_bits_at(), high);
    }
}

// The extreme value becomes the code furthest from zero, -2^(bits - 1), whatever its sign: the scale takes
// it.
template <Layout kLayout>
void quantize_around_zero(const float* values, std::byte* block) {
    constexpr int kZero = 1 << (kLayout.bits - 1);
    const float scale = extreme_of(values, kSmallBlock) / float(-kZero);
    const float inverse = inverse_or_zero(scale);
    int codes[kSmallBlock];
    for (size_t j = 0; j < kSmallBlock; ++j) {
        codes[j] = std::min(2 * kZero - 1,
                            int(int8_t(truncate_to_int(values[j] * inverse + (float(kZero) + 0.5f)))));
    }
    store_half(block, scale);
    pack_codes<kLayout>(codes, block);
}

template <Layout kLayout>
void quantize_above_minimum(const float* values, std::byte* block) {
    constexpr int kMaxCode = (1 << kLayout.bits) - 1;
    // The first of several, so that zeros of both signs have no negative range.
    const float* minimum = std::min_element(values, values + kSmallBlock);
    const float* maximum = std::max_element(values, values + kSmallBlock);
    const float scale = (*maximum - *minimum) / float(kMaxCode);
    const float inverse = inverse_or_zero(scale);
    int codes[kSmallBlock];
    for (size_t j = 0; j < kSmallBlock; ++j) {
        const int code = int8_t(truncate_to_int((values[j] - *minimum) * inverse + 0.5f));
        codes[j] = std::min(kMaxCode, code);
    }
    store_half(block, scale);
    store_half(block + 2, *minimum);
    pack_codes<kLayout>(codes, block);
}

template <Layout kLayout>
void quantize(const float* values, std::byte* blocks, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kLayout.block_bytes()) {
        if constexpr (kLayout.minimum) {
            quantize_above_minimum<kLayout>(values, blocks);
        } else {
            quantize_around_zero<kLayout>(values, blocks);
        }
    }
}

constexpr Layout kQ4_0{4, false}, kQ4_1{4, true}, kQ5_0{5, false}, kQ5_1{5, true};
constexpr size_t kQ8Bytes = 2 + kSmallBlock;

}  // namespace

void dequantize_q4_0(const std::byte* blocks, float* values, size_t count) {
    dequantize<kQ4_0>(blocks, values, count);
}

void quantize_q4_0(const float* values, std::byte* blocks, size_t count) {
    quantize<kQ4_0>(values, blocks, count);
}

void dequantize_q4_1(const std::byte* blocks, float* values, size_t count) {
    dequantize<kQ4_1>(blocks, values, count);
}

void quantize_q4_1(const float* values, std::byte* blocks, size_t count) {
    quantize<kQ4_1>(values, blocks, count);
}

void dequantize_q5_0(const std::byte* blocks, float* values, size_t count) {
    dequantize<kQ5_0>(blocks, values, count);
}

void quantize_q5_0(const float* values, std::byte* blocks, size_t count) {
    quantize<kQ5_0>(values, blocks, count);
}

void dequantize_q5_1(const std::byte* blocks, float* values, size_t count) {
    dequantize<kQ5_1>(blocks, values, count);
}

void quantize_q5_1(const float* values, std::byte* blocks, size_t count) {
    quantize<kQ5_1>(values, blocks, count);
}

void dequantize_q8_0(const std::byte* blocks, float* values, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kQ8Bytes) {
        const float scale = load_half(blocks);
        for (size_t j = 0; j < kSmallBlock; ++j) values[j] = float(load_signed_byte(blocks + 2 + j)) * scale;
    }
}

void quantize_q8_0(const float* values, std::byte* blocks, size_t count) {
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kQ8Bytes) {
        const float scale = std::fabs(extreme_of(values, kSmallBlock)) / 127.0f;
        const float inverse = inverse_or_zero(scale);
        store_half(blocks, scale);
        for (size_t j = 0; j < kSmallBlock; ++j) {
            store_byte(blocks + 2 + j, truncate_to_int(std::round(values[j] * inverse)));
        }
    }
}

}  // namespace ingot::quant
