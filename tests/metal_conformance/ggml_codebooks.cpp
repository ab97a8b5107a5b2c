#include "metal_conformance/ggml_codebooks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/half.h"
#include "metal_conformance/ggml_support.h"

namespace ingot::metal::conformance {
namespace {

// The numbers of a table of ggml-common.h, by name.
const std::vector<uint64_t>& codebook_table(const std::string& name) {
    static std::map<std::string, std::vector<uint64_t>> known;
    std::vector<uint64_t>& table = known[name];
    if (!table.empty()) return table;
    std::ifstream file(ggml_folder() + "/../ggml-common.h");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    size_t at = text.find(", " + name + ",");
    const size_t end = text.find("GGML_TABLE_END", at);
    if (end == std::string::npos) {
        ADD_FAILURE() << "ggml-common.h has no table " << name;
        return table = std::vector<uint64_t>(2048);
    }
    at = text.find('\n', at);
    while ((at = text.find_first_of("-0123456789", at)) < end) {
        size_t length = 0;
        const std::string number = text.substr(at, 32);
        table.push_back(number[0] == '-' ? uint64_t(std::stoll(number, &length, 0))
                                         : std::stoull(number, &length, 0));
        at += length;
    }
    return table;
}

uint16_t word16(const uint8_t* bytes) {
    return uint16_t(bytes[0] | bytes[1] << 8);
}
uint32_t word32(const uint8_t* bytes) {
    return word16(bytes) | uint32_t(word16(bytes + 2)) << 16;
}
double half_scale(const uint8_t* bytes) {
    return double(half_to_float(word16(bytes)));
}
double nibble_of(uint8_t byte, int which) {
    return byte >> 4 * which & 15;
}
// Element j of entry `index`, a byte each.
double grid_value(const std::vector<uint64_t>& grid, uint32_t index, int j) {
    return double(int8_t(grid[index] >> 8 * j));
}
double sign_bit(uint32_t bits, int j) {
    return bits >> j & 1 ? -1 : 1;
}
// Seven signs are stored; the eighth makes the number of minuses even.
double even_sign(uint32_t seven, int j) {
    seven &= 127;
    return sign_bit(seven | uint32_t(std::popcount(seven) & 1) << 7, j);
}

// Calls each(group of 32, group of 8 in it, element in that, place in the block).
template <typename F>
void for_elements(const F& each) {
    for (int i = 0; i < 256; ++i) each(i / 32, i / 8 % 4, i % 8, i);
}

void decode_iq2_xxs(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq2xxs_grid");
    for_elements([&](int group, int l, int j, int i) {
        const uint8_t* g = b + 2 + 8 * group;
        const uint32_t word = word32(g + 4);
        out[i] = half_scale(b) * (0.5 + (word >> 28)) / 4 * grid_value(grid, g[l], j) *
                 even_sign(word >> 7 * l, j);
    });
}

void decode_iq2_xs(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq2xs_grid");
    for_elements([&](int group, int l, int j, int i) {
        const uint16_t q = word16(b + 2 + 8 * group + 2 * l);
        out[i] = half_scale(b) * (0.5 + nibble_of(b[66 + group], l / 2)) / 4 * grid_value(grid, q & 511, j) *
                 even_sign(q >> 9, j);
    });
}

void decode_iq2_s(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq2s_grid");
    for_elements([&](int group, int l, int j, int i) {
        const uint32_t index = b[2 + 4 * group + l] | (b[66 + group] >> 2 * l & 3) << 8;
        out[i] = half_scale(b) * (0.5 + nibble_of(b[74 + group], l / 2)) / 4 * grid_value(grid, index, j) *
                 sign_bit(b[34 + 4 * group + l], j);
    });
}

void decode_iq3_xxs(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq3xxs_grid");
    for_elements([&](int group, int l, int j, int i) {
        const uint32_t word = word32(b + 66 + 4 * group);
        out[i] = half_scale(b) * (0.5 + (word >> 28)) / 2 *
                 grid_value(grid, b[2 + 8 * group + 2 * l + j / 4], j % 4) * even_sign(word >> 7 * l, j);
    });
}

void decode_iq3_s(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq3s_grid");
    for_elements([&](int group, int l, int j, int i) {
        const int at = 2 * l + j / 4;
        const uint32_t index = b[2 + 8 * group + at] | (b[66 + group] >> at & 1) << 8;
        out[i] = half_scale(b) * (1 + 2 * nibble_of(b[106 + group / 2], group % 2)) *
                 grid_value(grid, index, j % 4) * sign_bit(b[74 + 4 * group + l], j);
    });
}

constexpr double kGridShift = 0.125;

void decode_iq1_s(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq1s_grid");
    for_elements([&](int group, int l, int j, int i) {
        const uint16_t high = word16(b + 34 + 2 * group);
        const uint32_t index = b[2 + 4 * group + l] | (high >> 3 * l & 7) << 8;
        out[i] = half_scale(b) * (2 * (high >> 12 & 7) + 1) *
                 (grid_value(grid, index, j) + kGridShift * sign_bit(high, 15));
    });
}

void decode_iq1_m(const uint8_t* b, double* out) {
    const auto& grid = codebook_table("iq1s_grid");
    uint16_t scale = 0;
    for (int s = 0; s < 4; ++s) scale |= uint16_t(word16(b + 48 + 2 * s) >> 12 << 4 * s);
    for_elements([&](int group, int l, int j, int i) {
        const int high = int(nibble_of(b[32 + 2 * group + l / 2], l % 2));
        const int three = word16(b + 48 + 2 * (group / 2)) >> (6 * (group % 2) + 3 * (l / 2)) & 7;
        out[i] = double(half_to_float(scale)) * (2 * three + 1) *
                 (grid_value(grid, b[4 * group + l] | (high & 7) << 8, j) + kGridShift * sign_bit(high, 3));
    });
}

void decode_iq4_xs(const uint8_t* b, double* out) {
    const auto& values = codebook_table("kvalues_iq4nl");
    for (int i = 0; i < 256; ++i) {
        const int group = i / 32, low = int(nibble_of(b[4 + group / 2], group % 2)),
                  high = word16(b + 2) >> 2 * group & 3;
        const int index = int(nibble_of(b[8 + 16 * group + i % 16], i / 16 % 2));
        out[i] = half_scale(b) * ((low | high << 4) - 32) * double(int64_t(values[index]));
    }
}

void decode_tq2_0(const uint8_t* b, double* out) {
    for (int i = 0; i < 256; ++i)
        out[i] = half_scale(b + 64) * ((b[i / 128 * 32 + i % 32] >> 2 * (i / 32 % 4) & 3) - 1);
}

void decode_q1_0(const uint8_t* b, double* out) {
    for (int i = 0; i < 128; ++i) out[i] = -half_scale(b) * sign_bit(b[2 + i / 8], i % 8);
}

void decode_q2_0(const uint8_t* b, double* out) {
    for (int i = 0; i < 64; ++i) out[i] = half_scale(b) * ((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1);
}

constexpr Codebook kCodebooks[] = {
    {"iq1_s", 256, 50, 0, decode_iq1_s},     {"iq1_m", 256, 56, -1, decode_iq1_m},
    {"iq2_xxs", 256, 66, 0, decode_iq2_xxs}, {"iq2_xs", 256, 74, 0, decode_iq2_xs},
    {"iq2_s", 256, 82, 0, decode_iq2_s},     {"iq3_xxs", 256, 98, 0, decode_iq3_xxs},
    {"iq3_s", 256, 110, 0, decode_iq3_s},    {"iq4_xs", 256, 136, 0, decode_iq4_xs},
    {"tq2_0", 256, 66, 64, decode_tq2_0},    {"q1_0", 128, 18, 0, decode_q1_0},
    {"q2_0", 64, 18, 0, decode_q2_0},
};

}  // namespace

const Codebook* find_codebook(std::string_view name) {
    const auto* found = std::ranges::find(kCodebooks, name, &Codebook::name);
    return found == std::end(kCodebooks) ? nullptr : found;
}

void make_scale_small(const Codebook& book, uint8_t* block) {
    // The upper four bits of a half's pattern: 2 is 2^-7 to 2^-3.
    if (book.scale_at >= 0) {
        uint8_t& upper = block[book.scale_at + 1];
        upper = uint8_t((upper & 15) | 2 << 4);
        return;
    }
    block[55] = uint8_t((block[55] & 15) | 2 << 4);
}

}  // namespace ingot::metal::conformance
