// Finding the scale of a group of values: the searches of the reference quantizers. Each gives the codes too,
// which a caller recomputes once the scale has been rounded to what is stored, except where that scale is
// zero. The order of every sum and product is part of the format's reference result; don't regroup them.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ingot::quant {

// Below this magnitude a group counts as zero.
inline constexpr float kNegligible = 1e-15f;

// The value of largest magnitude, the first of several; 0 for a group of zeros.
float extreme_of(const float* values, size_t count);

// Half to even. Adding 1.5 * 2^23 leaves the integer in the low bits of the sum; beyond +-2^22 the result is
// meaningless, but the same everywhere.
inline int round_to_int(float value) {
    return int(std::bit_cast<uint32_t>(value + 0x1.8p23f) & 0x007FFFFFu) - 0x00400000;
}

// value = scale * code - min with codes 0..max_code and min >= 0.
struct MinFit {
    float scale;
    float min;
};

// Weighted least squares over trial scales max_code + first_shift, + 0.1, + 0.2, ... (num_steps + 1 of them)
// steps across the range of the values.
struct MinSearch {
    int max_code;
    float first_shift;
    int num_steps;
    bool absolute_error;  // of the error that chooses among them; else squared
};

// Here and below `count` is at most kMostInGroup.
inline constexpr size_t kMostInGroup = 32;
MinFit fit_above_min(const float* values, const float* weights, size_t count, const MinSearch& search,
                     int* codes);

// value = scale * code with codes -half..half - 1, weights value^2: scale the extreme value onto -half, then
// try 18 scales around that. Codes of a negligible group are -half (which is stored as 0).
float fit_signed_by_scan(const float* values, size_t count, int half, int* codes);
// The same, then change one code at a time while that helps.
float fit_signed_by_descent(const float* values, size_t count, int half, int* codes);

}  // namespace ingot::quant
