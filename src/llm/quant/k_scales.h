// The packed scales of the K types: six-bit numbers spread over twelve bytes. Q4_K and Q5_K store eight
// scales and eight minima, Q3_K sixteen signed scales.
#pragma once

#include "llm/quant/blocks.h"

namespace ingot::quant {

// Q4_K, Q5_K: number j of 0..3 is the low six bits of byte j (scale) and byte j + 4 (minimum). Number j
// of 4..7 has its low four bits in the nibbles of byte j + 4 (scale low, minimum high) and its upper two in
// the top bits of bytes j - 4 (scale) and j (minimum).
struct ScaleAndMin {
    int scale;
    int min;
};

inline ScaleAndMin unpack_scale_and_min(const std::byte* packed, size_t j) {
    if (j < 4) return {load_byte(packed + j) & 63, load_byte(packed + j + 4) & 63};
    const uint8_t low = load_byte(packed + j + 4);
    return {low_nibble(low) | load_byte(packed + j - 4) >> 6 << 4,
            high_nibble(low) | load_byte(packed + j) >> 6 << 4};
}

// `packed` holds zeros before the first of the eight.
inline void pack_scale_and_min(std::byte* packed, size_t j, int scale, int min) {
    if (j < 4) {
        store_byte(packed + j, scale);
        store_byte(packed + j + 4, min);
        return;
    }
    packed[j + 4] = pack_nibbles(scale & 15, min & 15);
    packed[j - 4] |= std::byte(uint8_t(scale >> 4 << 6));
    packed[j] |= std::byte(uint8_t(min >> 4 << 6));
}

// Q3_K: number j of 0..15, stored with 32 added: low four bits in the nibbles of bytes 0..7 (j < 8 low, else
// high), the upper two in bits 2 (j / 4) of byte 8 + j % 4.
inline int unpack_signed_scale(const std::byte* packed, size_t j) {
    const uint8_t byte = load_byte(packed + j % 8);
    const int low = j < 8 ? low_nibble(byte) : high_nibble(byte);
    const int high = load_byte(packed + 8 + j % 4) >> (2 * (j / 4)) & 3;
    return (low | high << 4) - 32;
}

// `packed` holds zeros before the first of the sixteen; scale is in -32..31.
inline void pack_signed_scale(std::byte* packed, size_t j, int scale) {
    const int stored = scale + 32;
    packed[j % 8] |= std::byte(uint8_t((stored & 15) << (j < 8 ? 0 : 4)));
    packed[8 + j % 4] |= std::byte(uint8_t(stored >> 4 << (2 * (j / 4))));
}

}  // namespace ingot::quant
