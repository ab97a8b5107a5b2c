// Q3_K and Q6_K: super-blocks of 256 in groups of 16 with a signed scale, value = d * scale * (code - zero).
// Layouts: Q3_K hmask[32], qs[64], scales[12] (k_scales.h), half d; Q6_K ql[128], qh[64], int8 scales[16],
// half d.
#include "llm/quant/conversions.h"
#include "llm/quant/k_scales.h"

namespace ingot::quant {
namespace {

constexpr size_t kQ3Bytes = 110;
constexpr size_t kQ6Bytes = 210;

// Two low bits as in Q2_K (k_min_types.cpp); bit k of byte l in hmask is the third bit of element 32 k + l.
void unpack_q3(const std::byte* block, int (&codes)[kSuperBlock]) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const int low = load_byte(block + 32 + i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
        const int high = load_byte(block + i % 32) >> (i / 32) & 1;
        codes[i] = (low | high << 2) - 4;
    }
}

// Per 128 elements 64 bytes of ql and 32 of qh: element 32 k + l has its low nibble in byte 32 (k % 2) + l of
// ql (low nibble for k < 2) and its upper two bits in bits 2k of byte l of qh.
void unpack_q6(const std::byte* block, int (&codes)[kSuperBlock]) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const size_t half = i / 128, k = i % 128 / 32, l = i % 32;
        const uint8_t byte = load_byte(block + 64 * half + 32 * (k % 2) + l);
        const int low = k < 2 ? low_nibble(byte) : high_nibble(byte);
        const int high = load_byte(block + 128 + 32 * half + l) >> (2 * k) & 3;
        codes[i] = (low | high << 4) - 32;
    }
}

}  // namespace

void dequantize_q3_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ3Bytes) {
        unpack_q3(blocks, codes);
        const float d = load_half(blocks + 108);
        for (size_t i = 0; i < kSuperBlock; ++i) {
            values[i] = d * float(unpack_signed_scale(blocks + 96, i / 16)) * float(codes[i]);
        }
    }
}

void dequantize_q6_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ6Bytes) {
        unpack_q6(blocks, codes);
        const float d = load_half(blocks + 208);
        for (size_t i = 0; i < kSuperBlock; ++i) {
            values[i] = d * float(load_signed_byte(blocks + 192 + i / 16)) * float(codes[i]);
        }
    }
}

}  // namespace ingot::quant
