// Reading and writing the fields of a block: bytes, halves and nibbles at any address. Shared by the
// conversions of this folder; a layout is described next to the function that decodes it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

inline int low_nibble(uint8_t byte) {
    return byte & 0x0F;
}
inline int high_nibble(uint8_t byte) {
    return byte >> 4;
}

}  // namespace ingot::quant
