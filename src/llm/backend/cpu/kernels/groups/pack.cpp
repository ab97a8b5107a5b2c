#include "llm/backend/cpu/kernels/groups/pack.h"

#include <cstring>
#include <utility>

#include "llm/backend/cpu/kernels/groups/layout.h"
#include "llm/backend/cpu/kernels/mat_mul.h"

namespace ingot::cpu {
namespace {

// Eight consecutive bytes, one of each element: everything here is done on eight elements at once.
uint64_t eight_at(const uint8_t* bytes, uint32_t index) {
    uint64_t eight;
    std::memcpy(&eight, bytes + 8 * index, 8);
    return eight;
}

constexpr uint64_t kEach = 0x0101010101010101;  // times a mask: of every byte

// Bit i of `bits` to bit 0 of byte i.
uint64_t spread(uint8_t bits) {
    const auto half = [](uint64_t four) { return (four * 0x00204081) & 0x01010101; };
    return half(bits & 15) | half(bits >> 4) << 32;
}

// The codes of 32 consecutive elements of a row, unsigned, element 8i + x in byte x of word i: the bits that
// the layout stores as codes, and those above them.
struct SliceCodes {
    uint64_t low[4], high[4];
};

// Slice `s` of a GGUF block.
template <QuantType kType>
SliceCodes slice_codes(const uint8_t* block, uint32_t s) {
    constexpr GroupLayout kLayout = group_layout(kType);
    SliceCodes q;
    for (uint32_t i = 0; i < 4; ++i) {
        if constexpr (kType == QuantType::kQ8_0) {
            q.low[i] = eight_at(block + 2, i) ^ 0x80 * kEach;
        } else if constexpr (kType == QuantType::kQ2_K || kType == QuantType::kQ3_K) {
            // 128 elements in 32 bytes: slice s % 4 of them in bits 2s, 2s + 1.
            const uint8_t* pairs = block + (kType == QuantType::kQ2_K ? 16 : 32) + s / 4 * 32;
            q.low[i] = eight_at(pairs, i) >> (s % 4 * 2) & 3 * kEach;
            if constexpr (kType == QuantType::kQ3_K) q.high[i] = eight_at(block, i) >> s & kEach;
        } else if constexpr (kType == QuantType::kQ4_K || kType == QuantType::kQ5_K) {
            const uint8_t* nibbles = block + (kType == QuantType::kQ4_K ? 16 : 48) + s / 2 * 32;
            q.low[i] = eight_at(nibbles, i) >> (s % 2 * 4) & 15 * kEach;
            if constexpr (kType == QuantType::kQ5_K) q.high[i] = eight_at(block + 16, i) >> s & kEach;
        } else if constexpr (kType == QuantType::kQ6_K) {
            // 128 elements: low nibbles in 64 bytes, high pairs in 32.
            q.low[i] = eight_at(block + s / 4 * 64 + s % 2 * 32, i) >> (s % 4 / 2 * 4) & 15 * kEach;
            q.high[i] = eight_at(block + 128 + s / 4 * 32, i) >> (s % 4 * 2) & 3 * kEach;
        } else {
            // Blocks of 32: [scales] [fifth bits] nibbles, the second half of the elements in the high ones.
            q.low[i] = eight_at(block + kLayout.block_bytes - 16, i % 2) >> (i / 2 * 4) & 15 * kEach;
            if constexpr (kLayout.high == HighBits::kOne)
                q.high[i] = spread(block[kLayout.block_bytes - 20 + i]);
        }
    }
    return q;
}

// The sub-scales of a block, one for each 16 elements, as the layout stores them.
struct SubScaleBytes {
    uint8_t at[16];
};

// Of Q3_K: six bits less 32, four low ones in bytes 0..7 (the first eight scales, the second eight in the
// upper halves), two high ones in bytes 8..11.
SubScaleBytes q3_k_scales(const uint8_t* packed) {
    const uint64_t low = eight_at(packed, 0);
    uint32_t high;
    std::memcpy(&high, packed + 8, 4);
    const auto eight = [&](uint64_t low_bits, uint32_t shift) {
        const uint64_t pairs = (high >> shift & 0x03030303u) | uint64_t(high >> (shift + 2) & 0x03030303u)
                                                                   << 32;
        return (((low_bits & 15 * kEach) | pairs << 4 | 0x80 * kEach) - 32 * kEach) ^ 0x80 * kEach;
    };
    const uint64_t words[2] = {eight(low, 0), eight(low >> 4, 4)};
    SubScaleBytes scales;
    std::memcpy(scales.at, words, 16);
    return scales;
}

template <QuantType kType>
SubScaleBytes sub_scales(const uint8_t* block) {
    if constexpr (kType == QuantType::kQ3_K) return q3_k_scales(block + 96);
    SubScaleBytes scales = {};
    if constexpr (kType == QuantType::kQ2_K) std::memcpy(scales.at, block, 16);
    if constexpr (kType == QuantType::kQ6_K) std::memcpy(scales.at, block + 192, 16);
    return scales;
}

template <QuantType kType>
void pack_header(const uint8_t* block, uint32_t row, uint8_t* header) {
    if constexpr (kType == QuantType::kMXFP4) {
        header[row] = block[0];
        return;
    }
    constexpr uint32_t kScaleAt = kType == QuantType::kQ2_K   ? 80
                                  : kType == QuantType::kQ3_K ? 108
                                  : kType == QuantType::kQ6_K ? 208
                                                              : 0;
    std::memcpy(header + 2 * row, block + kScaleAt, 2);
    if constexpr (group_layout(kType).has_min) std::memcpy(header + 32 + 2 * row, block + kScaleAt + 2, 2);
    if constexpr (kType == QuantType::kQ4_K || kType == QuantType::kQ5_K) {
        for (uint32_t w = 0; w < 3; ++w) std::memcpy(header + 64 + 64 * w + 4 * row, block + 4 + 4 * w, 4);
    }
}

// Four elements each to the row's place in two vectors one behind the other.
void put_eight(uint8_t* vectors, uint32_t row, uint64_t eight) {
    std::memcpy(vectors + 4 * row, &eight, 4);
    eight >>= 32;
    std::memcpy(vectors + 64 + 4 * row, &eight, 4);
}
void put_four(uint8_t* vector, uint32_t row, uint64_t four) {
    std::memcpy(vector + 4 * row, &four, 4);
}

// Two bits of each of 16 elements, as pairs.
uint64_t joined_pairs(const uint64_t* codes) {
    const uint64_t pairs = codes[0] | codes[1] << 4;
    return pairs | pairs >> 32 << 2;
}

template <QuantType kType>
void pack_codes(const SliceCodes& q, uint32_t row, uint8_t* codes) {
    constexpr GroupLayout kLayout = group_layout(kType);
    uint8_t* high = codes + kLayout.code_bytes();
    if constexpr (kLayout.codes == Codes::kBytes) {
        for (uint32_t i = 0; i < 4; ++i) put_eight(codes + 128 * i, row, q.low[i]);
    } else if constexpr (kLayout.codes == Codes::kNibbles) {
        for (uint32_t i = 0; i < 2; ++i) put_eight(codes + 128 * i, row, q.low[i] | q.low[i + 2] << 4);
    } else {
        for (uint32_t h = 0; h < 2; ++h) put_four(codes + 64 * h, row, joined_pairs(q.low + 2 * h));
    }
    if constexpr (kLayout.high == HighBits::kTwo) {
        for (uint32_t h = 0; h < 2; ++h) put_four(high + 64 * h, row, joined_pairs(q.high + 2 * h));
    }
    if constexpr (kLayout.high == HighBits::kOne) {
        const uint64_t bits = q.high[0] | q.high[1] << 2 | q.high[2] << 4 | q.high[3] << 6;
        put_four(high, row, bits | bits >> 32 << 1);
    }
}

// Blocks of one row, a unit each.
template <QuantType kType>
void pack_row(const uint8_t* block, size_t count, uint32_t row, uint8_t* unit) {
    constexpr GroupLayout kLayout = group_layout(kType);
    for (; count > 0; --count, block += kLayout.block_bytes, unit += kLayout.unit_bytes()) {
        pack_header<kType>(block, row, unit);
        const SubScaleBytes scales = sub_scales<kType>(block);
        const auto pack_slice = [&](uint32_t s) {
            uint8_t* slice = unit + kLayout.header_bytes + s * kLayout.slice_bytes();
            if constexpr (kLayout.sub != SubScales::kNone) {
                slice[row] = scales.at[2 * s];
                slice[16 + row] = scales.at[2 * s + 1];
            }
            pack_codes<kType>(slice_codes<kType>(block, s), row, slice + kLayout.sub_bytes());
        };
        // Each slice its own code, in which shifts are constant.
        [&]<uint32_t... s>(std::integer_sequence<uint32_t, s...>) {
            (pack_slice(s), ...);
        }(std::make_integer_sequence<uint32_t, kLayout.slices()>());
    }
}

}  // namespace

template <QuantType kType>
size_t packed_group_bytes(uint32_t cols) {
    constexpr GroupLayout kLayout = group_layout(kType);
    return size_t(cols) / kLayout.block * kLayout.unit_bytes();
}

template <QuantType kType>
void pack_group(const std::byte* rows, uint32_t num_rows, uint32_t cols, std::byte* group) {
    constexpr GroupLayout kLayout = group_layout(kType);
    const size_t units = cols / kLayout.block;
    const size_t row_bytes = units * kLayout.block_bytes;
    if (num_rows < kGroupRows) std::memset(group, 0, units * kLayout.unit_bytes());
    // Some units of all rows at a time, so that the lines they share stay in the first-level cache.
    constexpr size_t kUnitsAtOnce = kLayout.block == 256 ? 1 : 8;
    for (size_t u = 0; u < units; u += kUnitsAtOnce) {
        const size_t count = units - u < kUnitsAtOnce ? units - u : kUnitsAtOnce;
        for (uint32_t row = 0; row < num_rows; ++row) {
            pack_row<kType>(
                reinterpret_cast<const uint8_t*>(rows) + row * row_bytes + u * kLayout.block_bytes, count,
                row, reinterpret_cast<uint8_t*>(group) + u * kLayout.unit_bytes());
        }
    }
}

#define INGOT_INSTANTIATE_PACK(type)                                    \
    template size_t packed_group_bytes<QuantType::type>(uint32_t cols); \
    template void pack_group<QuantType::type>(const std::byte*, uint32_t, uint32_t, std::byte*);
INGOT_INSTANTIATE_PACK(kQ4_0)
INGOT_INSTANTIATE_PACK(kQ4_1)
INGOT_INSTANTIATE_PACK(kQ5_0)
INGOT_INSTANTIATE_PACK(kQ5_1)
INGOT_INSTANTIATE_PACK(kQ8_0)
INGOT_INSTANTIATE_PACK(kQ2_K)
INGOT_INSTANTIATE_PACK(kQ3_K)
INGOT_INSTANTIATE_PACK(kQ4_K)
INGOT_INSTANTIATE_PACK(kQ5_K)
INGOT_INSTANTIATE_PACK(kQ6_K)
INGOT_INSTANTIATE_PACK(kIQ4_NL)
INGOT_INSTANTIATE_PACK(kMXFP4)
#undef INGOT_INSTANTIATE_PACK

}  // namespace ingot::cpu
