// Q2_K, Q4_K, Q5_K: super-blocks of 256 whose groups have a scale and a minimum, value = d * scale * code -
// dmin * min. Layouts: Q2_K scales[16] (low nibble scale, high nibble minimum, groups of 16), qs[64], half d,
// half dmin; Q4_K half d, half dmin, scales[12] (k_scales.h, groups of 32), qs[128]; Q5_K the same with
// qh[32] before qs.
#include "llm/quant/conversions.h"
#include "llm/quant/k_scales.h"

namespace ingot::quant {
namespace {

constexpr size_t kQ2Bytes = 84;
constexpr size_t kQ4Bytes = 144;
constexpr size_t kQ5Bytes = 176;

void scale_group(float scale, float min, const int* codes, float* values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = scale * float(codes[i]) - min;
}

// Two bits a code: each run of 32 bytes holds 128 elements, element 32 k + l in bits 2k of byte l.
void unpack_q2(const std::byte* qs, int (&codes)[kSuperBlock]) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        codes[i] = load_byte(qs + i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
    }
}

// Four bits a code: each run of 32 bytes holds 64 elements, the first 32 in the low nibbles.
void unpack_q4(const std::byte* qs, int (&codes)[kSuperBlock]) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const uint8_t byte = load_byte(qs + i / 64 * 32 + i % 32);
        codes[i] = i % 64 < 32 ? low_nibble(byte) : high_nibble(byte);
    }
}

void dequantize_with_packed_scales(const std::byte* block, const int* codes, float* values) {
    const float d = load_half(block);
    const float dmin = load_half(block + 2);
    for (size_t group = 0; group < 8; ++group) {
        const auto [scale, min] = unpack_scale_and_min(block + 4, group);
        scale_group(d * float(scale), dmin * float(min), codes + 32 * group, values + 32 * group, 32);
    }
}

}  // namespace

void dequantize_q2_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ2Bytes) {
        unpack_q2(blocks + 16, codes);
        const float d = load_half(blocks + 80);
        const float dmin = load_half(blocks + 82);
        for (size_t group = 0; group < 16; ++group) {
            const uint8_t packed = load_byte(blocks + group);
            scale_group(d * float(low_nibble(packed)), dmin * float(high_nibble(packed)), codes + 16 * group,
                        values + 16 * group, 16);
        }
    }
}

void dequantize_q4_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ4Bytes) {
        unpack_q4(blocks + 16, codes);
        dequantize_with_packed_scales(blocks, codes, values);
    }
}

void dequantize_q5_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ5Bytes) {
        unpack_q4(blocks + 48, codes);
        // Bit k of byte l in qh is the fifth bit of element 32 k + l.
        for (size_t i = 0; i < kSuperBlock; ++i) {
            codes[i] |= (load_byte(blocks + 16 + i % 32) >> (i / 32) & 1) << 4;
        }
        dequantize_with_packed_scales(blocks, codes, values);
    }
}

}  // namespace ingot::quant
