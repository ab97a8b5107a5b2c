#include "llm/backend/cpu/kernels/groups/pack.h"

#include <array>
#include <cstring>

#include "llm/backend/cpu/kernels/groups/layout.h"
#include "llm/backend/cpu/kernels/mat_mul.h"

namespace ingot::cpu {
namespace {

using Slice = std::array<uint8_t, 32>;  // the codes of 32 consecutive elements of a row

int bit(const uint8_t* bytes, uint32_t index) {
    return bytes[index / 8] >> (index % 8) & 1;
}

// Codes of slice `s` of a GGUF block, unsigned.
template <QuantType kType>
Slice slice_codes(const uint8_t* block, uint32_t s) {
    constexpr GroupLayout kLayout = group_layout(kType);
    Slice q;
    for (uint32_t i = 0; i < 32; ++i) {
        if constexpr (kType == QuantType::kQ8_0) {
            q[i] = block[2 + i] ^ 0x80;
        } else if constexpr (kType == QuantType::kQ2_K || kType == QuantType::kQ3_K) {
            // 128 elements in 32 bytes: slice s % 4 of them in bits 2s, 2s + 1.
            const uint8_t* pairs = block + (kType == QuantType::kQ2_K ? 16 : 32) + s / 4 * 32;
            q[i] = pairs[i] >> (s % 4 * 2) & 3;
            if constexpr (kType == QuantType::kQ3_K) q[i] |= (block[i] >> s & 1) << 2;
        } else if constexpr (kType == QuantType::kQ4_K || kType == QuantType::kQ5_K) {
            const uint8_t byte = block[(kType == QuantType::kQ4_K ? 16 : 48) + s / 2 * 32 + i];
            q[i] = s % 2 ? byte >> 4 : byte & 15;
            if constexpr (kType == QuantType::kQ5_K) q[i] |= (block[16 + i] >> s & 1) << 4;
        } else if constexpr (kType == QuantType::kQ6_K) {
            // 128 elements: low nibbles in 64 bytes, high pairs in 32.
            const uint8_t byte = block[s / 4 * 64 + s % 2 * 32 + i];
            q[i] = s % 4 / 2 ? byte >> 4 : byte & 15;
            q[i] |= (block[128 + s / 4 * 32 + i] >> (s % 4 * 2) & 3) << 4;
        } else {  // blocks of 32: [scales] [fifth bits] nibbles, the second half of the elements in the high
                  // ones
            const uint8_t byte = block[kLayout.block_bytes - 16 + i % 16];
            q[i] = i < 16 ? byte & 15 : byte >> 4;
            if constexpr (kLayout.high == HighBits::kOne) {
                q[i] |= bit(block + kLayout.block_bytes - 20, i) << 4;
            }
        }
    }
    return q;
}

// Sub-scale of 16 elements of a Q3_K block: six bits, four low ones in bytes 0..7 and two high ones in 8..11.
int q3_k_scale(const uint8_t* block, uint32_t i) {
    const uint8_t* scales = block + 96;
    const int low = i < 8 ? scales[i] & 15 : scales[i - 8] >> 4;
    const int high = scales[8 + i % 4] >> (i / 4 * 2) & 3;
    return (low | high << 4) - 32;
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

template <QuantType kType>
void pack_sub_scales(const uint8_t* block, uint32_t s, uint32_t row, uint8_t* sub) {
    for (uint32_t h = 0; h < 2; ++h) {
        const uint32_t i = 2 * s + h;
        if constexpr (kType == QuantType::kQ2_K) sub[16 * h + row] = block[i];
        if constexpr (kType == QuantType::kQ3_K) sub[16 * h + row] = uint8_t(q3_k_scale(block, i));
        if constexpr (kType == QuantType::kQ6_K) sub[16 * h + row] = block[192 + i];
    }
}

// Bits of `q` that go to the pairs of half `h`, column x: two of each of its four codes.
uint8_t pairs_of(const Slice& q, uint32_t h, uint32_t x, uint32_t shift) {
    uint32_t byte = 0;
    for (uint32_t j = 0; j < 4; ++j) byte |= (q[16 * h + 4 * j + x] >> shift & 3u) << 2 * j;
    return uint8_t(byte);
}

template <QuantType kType>
void pack_codes(const Slice& q, uint32_t row, uint8_t* codes) {
    constexpr GroupLayout kLayout = group_layout(kType);
    uint8_t* high = codes + kLayout.code_bytes();
    for (uint32_t x = 0; x < 4; ++x) {
        const uint32_t at = 4 * row + x;
        for (uint32_t j = 0; j < 4; ++j) {
            const uint8_t low_half = q[4 * j + x], high_half = q[16 + 4 * j + x];
            if constexpr (kLayout.codes == Codes::kBytes) {
                codes[64 * j + at] = low_half;
                codes[64 * (j + 4) + at] = high_half;
            } else if constexpr (kLayout.codes == Codes::kNibbles) {
                codes[64 * j + at] = uint8_t((low_half & 15) | high_half << 4);
            }
        }
        if constexpr (kLayout.codes == Codes::kPairs) {
            for (uint32_t h = 0; h < 2; ++h) codes[64 * h + at] = pairs_of(q, h, x, 0);
        }
        if constexpr (kLayout.high == HighBits::kTwo) {
            for (uint32_t h = 0; h < 2; ++h) high[64 * h + at] = pairs_of(q, h, x, 4);
        }
        if constexpr (kLayout.high == HighBits::kOne) {
            constexpr uint32_t kBit = kLayout.codes == Codes::kPairs ? 2 : 4;
            uint32_t byte = 0;
            for (uint32_t j = 0; j < 4; ++j) {
                byte |= (q[4 * j + x] >> kBit & 1u) << j | (q[16 + 4 * j + x] >> kBit & 1u) << (4 + j);
            }
            high[at] = uint8_t(byte);
        }
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
    if (num_rows < kGroupRows) std::memset(group, 0, units * kLayout.unit_bytes());
    for (uint32_t row = 0; row < num_rows; ++row) {
        const auto* block = reinterpret_cast<const uint8_t*>(rows) + row * units * kLayout.block_bytes;
        auto* unit = reinterpret_cast<uint8_t*>(group);
        for (size_t u = 0; u < units; ++u, block += kLayout.block_bytes, unit += kLayout.unit_bytes()) {
            pack_header<kType>(block, row, unit);
            for (uint32_t s = 0; s < kLayout.slices(); ++s) {
                uint8_t* slice = unit + kLayout.header_bytes + s * kLayout.slice_bytes();
                pack_sub_scales<kType>(block, s, row, slice);
                pack_codes<kType>(slice_codes<kType>(block, s), row, slice + kLayout.sub_bytes());
            }
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
