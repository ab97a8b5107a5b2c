// Reading and writing the fields of a block: bytes, halves and nibbles at any address. Shared by the
// conversions of this folder; a layout is described next to the function that decodes it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace ingot::quant {

static_assert(std::endian::native == std::endian::little, "GGUF blocks are little-endian");

inline constexpr size_t kSmallBlock = 32;   // elements of a block of the types without K
inline constexpr size_t kSuperBlock = 256;  // elements of a block of the K types

inline uint8_t load_byte(const std::byte* at) {
    return uint8_t(*at);
}
inline int8_t load_signed_byte(const std::byte* at) {
    return int8_t(*at);
}
inline void store_byte(std::byte* at, int value) {
    *at = std::byte(uint8_t(value));
}

inline uint16_t load_u16(const std::byte* at) {
    uint16_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

inline uint32_t load_u32(const std::byte* at) {
    uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    return bits;
}

inline void store_u16(std::byte* at, uint16_t bits) {
    std::memcpy(at, &bits, sizeof bits);
}
inline void store_u32(std::byte* at, uint32_t bits) {
    std::memcpy(at, &bits, sizeof bits);
}

inline float load_half(const std::byte* at) {
    return half_to_float(load_u16(at));
}
inline void store_half(std::byte* at, float value) {
    store_u16(at, float_to_half(value));
}

inline std::byte pack_nibbles(int low, int high) {
    return std::byte(uint8_t(low | high << 4));
}
inline int low_nibble(uint8_t byte) {
    return byte & 0x0F;
}
inline int high_nibble(uint8_t byte) {
    return byte >> 4;
}

// Towards zero. A NaN and what doesn't fit an int give INT_MIN, as x86's conversion instruction does: blocks
// whose inverse scale overflows (rows of subnormal values) are then the same bytes on every machine.
inline int truncate_to_int(float value) {
    return value >= -0x1p31f && value < 0x1p31f ? int(value) : std::numeric_limits<int>::min();
}

// 1 / scale, and 0 for 0: a block of zeros has no scale.
inline float inverse_or_zero(float scale) {
    return scale != 0.0f ? 1.0f / scale : 0.0f;
}

}  // namespace ingot::quant
