// numeric_limits for all arithmetic types. (Macros such as FLT_MAX are the front end's: it preprocesses.)
#pragma once

#include "type_traits.h"

namespace metal {

enum float_round_style {
    round_indeterminate = -1,
    round_toward_zero = 0,
    round_to_nearest = 1,
    round_toward_infinity = 2,
    round_toward_neg_infinity = 3
};
enum float_denorm_style { denorm_indeterminate = -1, denorm_absent = 0, denorm_present = 1 };

template <typename T>
struct numeric_limits {
    static constexpr bool is_specialized = false;
};
template <typename T>
struct numeric_limits<const T> : numeric_limits<T> {};

namespace ingot {

template <typename T>
struct integer_limits {
    static constexpr bool is_specialized = true, is_signed = T(-1) < T(0), is_integer = true, is_exact = true;
    static constexpr bool has_infinity = false, has_quiet_NaN = false, is_bounded = true,
                          is_modulo = !is_signed;
    static constexpr int radix = 2;
    static constexpr int digits = __is_same(T, bool) ? 1 : int(8 * sizeof(T)) - is_signed;
    static constexpr int digits10 = digits * 3 / 10;
    static constexpr T max() {
        return __is_same(T, bool) ? T(1) : T(~0ul >> (8 * sizeof(unsigned long) - digits));
    }
    static constexpr T min() { return is_signed ? T(-max() - 1) : T(0); }
    static constexpr T lowest() { return min(); }
    static constexpr T epsilon() { return T(0); }
    static constexpr T round_error() { return T(0); }
    static constexpr T infinity() { return T(0); }
    static constexpr T quiet_NaN() { return T(0); }
    static constexpr T denorm_min() { return T(0); }
};

// Bits is the integer of T's size.
template <typename T, typename Bits, int MantissaBits>
struct float_limits {
    static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
    static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true,
                          is_iec559 = true;
    static constexpr bool is_bounded = true, is_modulo = false;
    static constexpr float_denorm_style has_denorm = denorm_present;
    static constexpr float_round_style round_style = round_to_nearest;
    static constexpr int radix = 2, digits = MantissaBits + 1;
    static constexpr int bits = 8 * sizeof(T);
    static constexpr int max_exponent = 1 << (bits - MantissaBits - 2), min_exponent = 3 - max_exponent;
    static constexpr int digits10 = MantissaBits * 3 / 10, max_digits10 = 2 + digits * 3 / 10;
    static constexpr int max_exponent10 = max_exponent * 3 / 10,
                         min_exponent10 = -((1 - min_exponent) * 3 / 10);

    static constexpr T from_bits(Bits value) { return __builtin_bit_cast(T, value); }
    static constexpr Bits exponent(int biased) { return Bits(Bits(biased) << MantissaBits); }
    static constexpr Bits infinity_bits() { return exponent(2 * max_exponent - 1); }
    static constexpr T min() { return from_bits(exponent(1)); }
    static constexpr T max() { return from_bits(Bits(infinity_bits() - 1)); }
    static constexpr T lowest() { return -max(); }
    static constexpr T epsilon() { return from_bits(exponent(max_exponent - 1 - MantissaBits)); }
    static constexpr T round_error() { return T(0.5f); }
    static constexpr T infinity() { return from_bits(infinity_bits()); }
    static constexpr T quiet_NaN() {
        return from_bits(Bits(infinity_bits() | (Bits(1) << (MantissaBits - 1))));
    }
    static constexpr T signaling_NaN() {
        return from_bits(Bits(infinity_bits() | (Bits(1) << (MantissaBits - 2))));
    }
    static constexpr T denorm_min() { return from_bits(Bits(1)); }
};

}  // namespace ingot

#define INGOT_LIMITS(type, ...) \
    template <>                 \
    struct numeric_limits<type> : ingot::__VA_ARGS__ {};
INGOT_LIMITS(bool, integer_limits<bool>)
INGOT_LIMITS(char, integer_limits<char>)
INGOT_LIMITS(signed char, integer_limits<signed char>)
INGOT_LIMITS(uchar, integer_limits<uchar>)
INGOT_LIMITS(short, integer_limits<short>)
INGOT_LIMITS(ushort, integer_limits<ushort>)
INGOT_LIMITS(int, integer_limits<int>)
INGOT_LIMITS(uint, integer_limits<uint>)
INGOT_LIMITS(long, integer_limits<long>)
INGOT_LIMITS(ulong, integer_limits<ulong>)
INGOT_LIMITS(long long, integer_limits<long long>)
INGOT_LIMITS(unsigned long long, integer_limits<unsigned long long>)
INGOT_LIMITS(float, float_limits<float, uint, 23>)
INGOT_LIMITS(half, float_limits<half, ushort, 10>)
INGOT_LIMITS(bfloat, float_limits<bfloat, ushort, 7>)
#undef INGOT_LIMITS

}  // namespace metal
