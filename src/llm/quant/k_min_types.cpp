// Q2_K, Q4_K, Q5_K: super-blocks of 256 whose groups have a scale and a minimum, value = d * scale * code -
// dmin * min. Layouts: Q2_K scales[16] (low nibble scale, high nibble minimum, groups of 16), qs[64], half d,
// half dmin; Q4_K half d, half dmin, scales[12] (k_scales.h, groups of 32), qs[128]; Q5_K the same with
// qh[32] before qs.
#include <algorithm>

#include "llm/quant/conversions.h"
#include "llm/quant/k_scales.h"
#include "llm/quant/search.h"

namespace ingot::quant {
namespace {

constexpr size_t kQ2Bytes = 84;
constexpr size_t kQ4Bytes = 144;
constexpr size_t kQ5Bytes = 176;
constexpr size_t kMostGroups = 16;

// Two bits a code: each run of 32 bytes holds 128 elements, element 32 k + l in bits 2k of byte l.
void unpack_q2(const std::byte* qs, int* codes) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        codes[i] = load_byte(qs + i / 128 * 32 + i % 32) >> (2 * (i % 128 / 32)) & 3;
    }
}

void pack_q2(const int* codes, std::byte* qs) {
    std::fill_n(qs, kSuperBlock / 4, std::byte(0));
    for (size_t i = 0; i < kSuperBlock; ++i) {
        qs[i / 128 * 32 + i % 32] |= std::byte(uint8_t(codes[i] << (2 * (i % 128 / 32))));
    }
}

// Four bits a code: each run of 32 bytes holds 64 elements, the first 32 in the low nibbles.
void unpack_q4(const std::byte* qs, int* codes) {
    for (size_t i = 0; i < kSuperBlock; ++i) {
        const uint8_t byte = load_byte(qs + i / 64 * 32 + i % 32);
        codes[i] = i % 64 < 32 ? low_nibble(byte) : high_nibble(byte);
    }
}

void pack_q4(const int* codes, std::byte* qs) {
    for (size_t i = 0; i < kSuperBlock / 2; ++i) {
        const size_t first = i / 32 * 64 + i % 32;
        qs[i] = pack_nibbles(codes[first] & 15, codes[first + 32] & 15);
    }
}

// The fifth bits: bit k of byte l in qh belongs to element 32 k + l.
void unpack_fifth_bits(const std::byte* qh, int* codes) {
    for (size_t i = 0; i < kSuperBlock; ++i) codes[i] |= (load_byte(qh + i % 32) >> (i / 32) & 1) << 4;
}

void pack_fifth_bits(const int* codes, std::byte* qh) {
    std::fill_n(qh, kSuperBlock / 8, std::byte(0));
    for (size_t i = 0; i < kSuperBlock; ++i)
        qh[i % 32] |= std::byte(uint8_t((codes[i] >> 4 & 1) << (i / 32)));
}

void scale_group(float scale, float min, const int* codes, float* values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = scale * float(codes[i]) - min;
}

void dequantize_with_packed_scales(const std::byte* block, const int* codes, float* values) {
    const float d = load_half(block);
    const float dmin = load_half(block + 2);
    for (size_t group = 0; group < kSuperBlock / 32; ++group) {
        const auto [scale, min] = unpack_scale_and_min(block + 4, group);
        scale_group(d * float(scale), dmin * float(min), codes + 32 * group, values + 32 * group, 32);
    }
}

// The best scale and minimum of each group by itself, and the codes that go with them.
struct GroupFits {
    float scales[kMostGroups];
    float mins[kMostGroups];
    float max_scale = 0.0f;
    float max_min = 0.0f;
};

using Weigh = void (*)(const float* values, size_t count, float* weights);

GroupFits fit_groups(const float* values, size_t group_size, const MinSearch& search, Weigh weigh,
                     int* codes) {
    GroupFits fits;
    float weights[kMostInGroup];
    for (size_t group = 0; group < kSuperBlock / group_size; ++group) {
        const float* group_values = values + group * group_size;
        weigh(group_values, group_size, weights);
        const auto [scale, min] =
            fit_above_min(group_values, weights, group_size, search, codes + group * group_size);
        fits.scales[group] = scale;
        fits.mins[group] = min;
        fits.max_scale = std::max(fits.max_scale, scale);
        fits.max_min = std::max(fits.max_min, min);
    }
    return fits;
}

// The codes once scale and minimum are those that are stored. A group with scale 0 keeps the codes it has.
void assign_codes(const float* values, size_t count, float scale, float min, int max_code, int* codes) {
    if (scale == 0.0f) return;
    for (size_t i = 0; i < count; ++i) {
        codes[i] = std::clamp(round_to_int((values[i] + min) / scale), 0, max_code);
    }
}

void weigh_by_magnitude(const float* values, size_t count, float* weights) {
    for (size_t i = 0; i < count; ++i) weights[i] = std::fabs(values[i]);
}

void weigh_by_magnitude_and_mean(const float* values, size_t count, float* weights) {
    float sum_of_squares = 0.0f;
    for (size_t i = 0; i < count; ++i) sum_of_squares += values[i] * values[i];
    const float root_mean_square = std::sqrt(sum_of_squares / float(count));
    for (size_t i = 0; i < count; ++i) weights[i] = root_mean_square + std::fabs(values[i]);
}

// Writes d, dmin and the packed scales of Q4_K and Q5_K, and brings the codes in line with them.
void quantize_with_packed_scales(const float* values, const MinSearch& search, std::byte* block, int* codes) {
    constexpr float kMostScale = 63.0f;
    const GroupFits fits = fit_groups(values, 32, search, weigh_by_magnitude_and_mean, codes);
    const float inverse_scale = fits.max_scale > 0.0f ? kMostScale / fits.max_scale : 0.0f;
    const float inverse_min = fits.max_min > 0.0f ? kMostScale / fits.max_min : 0.0f;
    store_half(block, fits.max_scale / kMostScale);
    store_half(block + 2, fits.max_min / kMostScale);
    std::fill_n(block + 4, 12, std::byte(0));
    for (size_t group = 0; group < kSuperBlock / 32; ++group) {
        const int scale = std::min<int>(63, uint8_t(round_to_int(inverse_scale * fits.scales[group])));
        const int min = std::min<int>(63, uint8_t(round_to_int(inverse_min * fits.mins[group])));
        pack_scale_and_min(block + 4, group, scale, min);
    }
    const float d = load_half(block);
    const float dmin = load_half(block + 2);
    for (size_t group = 0; group < kSuperBlock / 32; ++group) {
        const auto [scale, min] = unpack_scale_and_min(block + 4, group);
        assign_codes(values + 32 * group, 32, d * float(scale), dmin * float(min), search.max_code,
                     codes + 32 * group);
    }
}

// One of the two nibbles of a group's byte in Q2_K, and what is stored as their unit.
void quantize_nibbles(const float* numbers, float largest, int shift, std::byte* scales, std::byte* unit) {
    constexpr float kMostNibble = 15.0f;
    store_half(unit, 0.0f);
    if (!(largest > 0.0f)) return;
    store_half(unit, largest / kMostNibble);
    for (size_t group = 0; group < kMostGroups; ++group) {
        scales[group] |= std::byte(uint8_t(round_to_int(kMostNibble / largest * numbers[group]) << shift));
    }
}

}  // namespace

void dequantize_q2_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ2Bytes) {
        unpack_q2(blocks + 16, codes);
        const float d = load_half(blocks + 80);
        const float dmin = load_half(blocks + 82);
        for (size_t group = 0; group < kMostGroups; ++group) {
            const uint8_t packed = load_byte(blocks + group);
            scale_group(d * float(low_nibble(packed)), dmin * float(high_nibble(packed)), codes + 16 * group,
                        values + 16 * group, 16);
        }
    }
}

void quantize_q2_k(const float* values, std::byte* blocks, size_t count) {
    constexpr MinSearch kSearch{3, -0.5f, 15, true};
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ2Bytes) {
        const GroupFits fits = fit_groups(values, 16, kSearch, weigh_by_magnitude, codes);
        std::fill_n(blocks, kMostGroups, std::byte(0));
        quantize_nibbles(fits.scales, fits.max_scale, 0, blocks, blocks + 80);
        quantize_nibbles(fits.mins, fits.max_min, 4, blocks, blocks + 82);
        const float d = load_half(blocks + 80);
        const float dmin = load_half(blocks + 82);
        for (size_t group = 0; group < kMostGroups; ++group) {
            const uint8_t packed = load_byte(blocks + group);
            assign_codes(values + 16 * group, 16, d * float(low_nibble(packed)),
                         dmin * float(high_nibble(packed)), kSearch.max_code, codes + 16 * group);
        }
        pack_q2(codes, blocks + 16);
    }
}

void dequantize_q4_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ4Bytes) {
        unpack_q4(blocks + 16, codes);
        dequantize_with_packed_scales(blocks, codes, values);
    }
}

void quantize_q4_k(const float* values, std::byte* blocks, size_t count) {
    constexpr MinSearch kSearch{15, -1.0f, 20, false};
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ4Bytes) {
        quantize_with_packed_scales(values, kSearch, blocks, codes);
        pack_q4(codes, blocks + 16);
    }
}

void dequantize_q5_k(const std::byte* blocks, float* values, size_t count) {
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ5Bytes) {
        unpack_q4(blocks + 48, codes);
        unpack_fifth_bits(blocks + 16, codes);
        dequantize_with_packed_scales(blocks, codes, values);
    }
}

void quantize_q5_k(const float* values, std::byte* blocks, size_t count) {
    constexpr MinSearch kSearch{31, -0.5f, 15, false};
    int codes[kSuperBlock];
    for (; count != 0; count -= kSuperBlock, values += kSuperBlock, blocks += kQ5Bytes) {
        quantize_with_packed_scales(values, kSearch, blocks, codes);
        pack_fifth_bits(codes, blocks + 16);
        pack_q4(codes, blocks + 48);
    }
}

}  // namespace ingot::quant
