// The packed layout of quantized weights that the vector kernels read: 16 rows make a group, a group is a run
// of units over K, and a unit is what follows, in the order in which it is read. It takes the bytes of the
// GGUF blocks it is made of, except Q3_K, whose sub-scales are widened to bytes (3.6% more).
//
//   header   scales of the unit, one entry a row: half d [16], half min [16] for types with minima (dmin of
//            Q2_K, Q4_K and Q5_K), then for Q4_K and Q5_K three u32 [16], the words of the 12 scale bytes.
//            MXFP4: u8 [16].
//   then for each 32 elements of K (one in a unit, or eight for blocks of 256):
//     sub-scales  of 16 elements each: s8 [2][16] (Q6_K, Q3_K); Q2_K: u8 [2][16], minimum in the high nibble
//     codes    nibbles: 256 bytes, byte 64j + 4r + x is q[4j + x] | q[16 + 4j + x] << 4 of row r
//              (j, x in 0..3)
//              bytes: 512 bytes, byte 64j + 4r + x is q[4j + x] of row r (j in 0..7)
//              pairs: 128 bytes, byte 64h + 4r + x holds q[16h + 4j + x] in bits 2j, 2j + 1 (h in 0..1)
//     high bits   one: 64 bytes, byte 4r + x holds those of q[4j + x] in bit j and of q[16 + 4j + x] in
//                 bit 4 + j
//                 two: 128 bytes, as pairs above
//
// Codes are unsigned: weight = scale * (code - offset) + min. So one vector of 64 bytes holds 16 rows x 4
// elements, as the byte dot products of x86 and Arm want them against 4 activations broadcast to all lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/quant/quant.h"

namespace ingot::cpu {

enum class Codes { kNibbles, kBytes, kPairs };
enum class HighBits { kNone, kOne, kTwo };
// What a sub-scale of 16 elements is: kSigned multiplies d; kScaleAndMin has a minimum as well.
enum class SubScales { kNone, kSigned, kScaleAndMin };

struct GroupLayout {
    uint32_t block;        // elements of a GGUF block
    uint32_t block_bytes;  // of a GGUF block
    uint32_t header_bytes;
    Codes codes;
    HighBits high;
    SubScales sub;
    bool has_min;
    int offset;    // of the codes
    int max_code;  // largest code; sums of products must not overflow

    constexpr uint32_t slices() const { return block / 32; }  // of 32 elements in a unit
    constexpr uint32_t sub_bytes() const { return sub == SubScales::kNone ? 0 : 32; }
    constexpr uint32_t code_bytes() const {
        return codes == Codes::kBytes ? 512 : codes == Codes::kNibbles ? 256 : 128;
    }
    constexpr uint32_t high_bytes() const {
        return high == HighBits::kNone ? 0 : high == HighBits::kOne ? 64 : 128;
    }
    constexpr uint32_t slice_bytes() const { return sub_bytes() + code_bytes() + high_bytes(); }
    constexpr uint32_t unit_bytes() const { return header_bytes + slices() * slice_bytes(); }
    constexpr bool halves() const { return sub != SubScales::kNone; }  // scales change every 16 elements
};

constexpr GroupLayout group_layout(QuantType type) {
    using enum Codes;
    constexpr auto kNoSub = SubScales::kNone;
    switch (type) {
        case QuantType::kQ4_0:
            return {32, 18, 32, kNibbles, HighBits::kNone, kNoSub, false, 8, 15};
        case QuantType::kQ4_1:
            return {32, 20, 64, kNibbles, HighBits::kNone, kNoSub, true, 0, 15};
        case QuantType::kQ5_0:
            return {32, 22, 32, kNibbles, HighBits::kOne, kNoSub, false, 16, 31};
        case QuantType::kQ5_1:
            return {32, 24, 64, kNibbles, HighBits::kOne, kNoSub, true, 0, 31};
        case QuantType::kQ8_0:
            return {32, 34, 32, kBytes, HighBits::kNone, kNoSub, false, 128, 255};
        case QuantType::kQ2_K:
            return {256, 84, 64, kPairs, HighBits::kNone, SubScales::kScaleAndMin, true, 0, 3};
        case QuantType::kQ3_K:
            return {256, 110, 32, kPairs, HighBits::kOne, SubScales::kSigned, false, 4, 7};
        case QuantType::kQ4_K:
            return {256, 144, 256, kNibbles, HighBits::kNone, kNoSub, true, 0, 15};
        case QuantType::kQ5_K:
            return {256, 176, 256, kNibbles, HighBits::kOne, kNoSub, true, 0, 31};
        case QuantType::kQ6_K:
            return {256, 210, 32, kNibbles, HighBits::kTwo, SubScales::kSigned, false, 32, 63};
        // Their codes are indices into a table of values; what the kernels see is value + offset.
        case QuantType::kIQ4_NL:
            return {32, 18, 32, kNibbles, HighBits::kNone, kNoSub, false, 128, 255};
        case QuantType::kMXFP4:
            return {32, 17, 16, kNibbles, HighBits::kNone, kNoSub, false, 12, 24};
        default:
            return {};  // the float types have no groups
    }
}

// The values that IQ4_NL and MXFP4 codes stand for (MXFP4 doubled, its scale halved: all are integers).
constexpr int8_t kIq4NlValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
constexpr int8_t kMxfp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace ingot::cpu
