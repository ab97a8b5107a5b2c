// Q3_K and Q6_K: super-blocks of 256 in groups of 16 with a signed scale, value = d * scale * (code - zero).
// Layouts: Q3_K hmask[32], qs[64], scales[12] (k_scales.h), half d; Q6_K ql[128], qh[64], int8 scales[16],
// half d.
#include <algorithm>

#include "llm/quant/conversions.h"
#include "llm/quant/k_scales.h"
#include "llm/quant/search.h"

namespace ingot::quant {
namespace {

constexpr size_t kQ3Bytes = 110;
constexpr size_t kQ6Bytes = 210;
constexpr size_t kGroups = 16;

// Two low bits as in Q2_K (k_min_types.cpp); bit k of byte l in hmask is the third bit of element 32 k + l.
void unpack_q3(const std::byte* block, int (&codes)[kSuperBlock]) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const int low = load_byte(block + 32 + i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
        const int high = load_byte(block + i % 32) >> (i / 32) & 1;
        codes[i] = (low | high << 2) - 4;
    }
}

void pack_q3(const int* codes, std::byte* block) {
    std::fill_n(block, 32 + 64, std::byte(0));
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const int stored = codes[i] + 4;
        block[32 + i / 128 * 32 + i % 32] |= std::byte(uint8_t((stored & 3) << (2 * (i % 128 / 32))));
        block[i % 32] |= std::byte(uint8_t(stored >> 2 << (i / 32)));
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

void pack_q6(const int* codes, std::byte* block) {
    std::fill_n(block, 128 + 64, std::byte(0));
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const size_t half = i / 128, k = i % 128 / 32, l = i % 32;
        const int stored = codes[i] + 32;
        block[64 * half + 32 * (k % 2) + l] |= std::byte(uint8_t((stored & 15) << (k < 2 ? 0 : 4)));
        block[128 + 32 * half + l] |= std::byte(uint8_t(stored >> 4 << (2 * k)));
    }
}

using FitGroup = float (*)(const float* values, size_t count, int half, int* codes);

struct GroupScales {
    float scales[kGroups];
    float extreme;  // that of largest magnitude
};

GroupScales fit_groups(const float* values, FitGroup fit, int half, int* codes) {
    GroupScales result;
    for (size_t group = 0; group < kGroups; ++group) {
        result.scales[group] = fit(values + 16 * group, 16, half, codes + 16 * group);
    }
    result.extreme = extreme_of(result.scales, kGroups);
    return result;
}

// The codes once the scale is the one that is stored. A group with scale 0 keeps the codes it has.
void assign_codes(const float* values, float scale, int half, int* codes) {
    if (scale == 0.0f) return;
    for (size_t i = 0; i < 16; ++i) codes[i] = std::clamp(round_to_int(values[i] / scale), -half, half - 1);
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

void quantize_q3_k(const float* values, std::byte* blocks, size_t count) {
    constexpr int kHalf = 4;
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ3Bytes) {
        const GroupScales fits = fit_groups(values, fit_signed_by_descent, kHalf, codes);
        std::fill_n(blocks + 96, 12, std::byte(0));
        store_half(blocks + 108, 0.0f);
        if (fits.extreme != 0.0f) {
            const float inverse = -32.0f / fits.extreme;
            store_half(blocks + 108, 1.0f / inverse);
            for (size_t group = 0; group < kGroups; ++group) {
                const int scale = int8_t(round_to_int(inverse * fits.scales[group]));
                pack_signed_scale(blocks + 96, group, std::clamp(scale, -32, 31));
            }
        }
        const float d = load_half(blocks + 108);
        for (size_t group = 0; group < kGroups; ++group) {
            assign_codes(values + 16 * group, d * float(unpack_signed_scale(blocks + 96, group)), kHalf,
                         codes + 16 * group);
        }
        pack_q3(codes, blocks);
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

void quantize_q6_k(const float* values, std::byte* blocks, size_t count) {
    constexpr int kHalf = 32;
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ6Bytes) {
        const GroupScales fits = fit_groups(values, fit_signed_by_scan, kHalf, codes);
        if (std::fabs(fits.extreme) < kNegligible) {
            std::fill_n(blocks, kQ6Bytes, std::byte(0));
            continue;
        }
        const float inverse = -128.0f / fits.extreme;
        store_half(blocks + 208, 1.0f / inverse);
        const float d = load_half(blocks + 208);
        for (size_t group = 0; group < kGroups; ++group) {
            std::byte* scale = blocks + 192 + group;
            store_byte(scale, std::min(127, round_to_int(inverse * fits.scales[group])));
            assign_codes(values + 16 * group, d * float(load_signed_byte(scale)), kHalf, codes + 16 * group);
        }
        pack_q6(codes, blocks);
    }
}

}  // namespace ingot::quant
