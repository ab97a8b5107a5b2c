// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0: blocks of 32 with one scale, and a minimum for the _1 types.
// Layouts: Q4_0 d qs[16]; Q4_1 d m qs[16]; Q5_0 d qh[4] qs[16]; Q5_1 d m qh[4] qs[16]; Q8_0 d int8[32]; d and
// m are halves. Byte j of qs holds element j in its low nibble and element j + 16 in its high one; bit j of
// qh is the fifth bit of element j.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "llm/quant/blocks.h"
#include "llm/quant/conversions.h"

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

}  // namespace

void dequantize_q4_0(const std::byte* blocks, float* values, size_t count) {
    dequantize<Layout{4, false}>(blocks, values, count);
}

void dequantize_q4_1(const std::byte* blocks, float* values, size_t count) {
    dequantize<Layout{4, true}>(blocks, values, count);
}

void dequantize_q5_0(const std::byte* blocks, float* values, size_t count) {
    dequantize<Layout{5, false}>(blocks, values, count);
}

void dequantize_q5_1(const std::byte* blocks, float* values, size_t count) {
    dequantize<Layout{5, true}>(blocks, values, count);
}

void dequantize_q8_0(const std::byte* blocks, float* values, size_t count) {
    constexpr size_t kBlockBytes = 2 + kSmallBlock;
    for (; count != 0; count -= kSmallBlock, values += kSmallBlock, blocks += kBlockBytes) {
        const float scale = load_half(blocks);
        for (size_t j = 0; j < kSmallBlock; ++j) values[j] = float(load_signed_byte(blocks + 2 + j)) * scale;
    }
}

}  // namespace ingot::quant
