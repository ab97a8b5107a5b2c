// Relational functions: questions about floating-point values, and choices by booleans. (`not` is C++'s own.)
#pragma once

#include "math.h"

namespace metal {

namespace ingot {

// The integer with a float's bits, and its exponent's place.
template <typename T>
using bits_of = conditional_t<sizeof(T) == 2, ushort, uint>;
template <typename T>
inline constexpr bits_of<T> exponent_mask = bits_of<T>(__is_same(T, float)  ? 0x7F800000
                                                       : __is_same(T, half) ? 0x7C00
                                                                            : 0x7F80);
template <typename T>
constexpr bits_of<T> magnitude_bits(T x) {
    return bits_of<T>(__builtin_bit_cast(bits_of<T>, x) & bits_of<T>(bits_of<T>(-1) >> 1));
}

}  // namespace ingot

// NAME(x): condition on the bits of |x|, `m`, where `e` are those of infinity. It holds under fast math too.
#define INGOT_QUESTION(name, condition)                                               \
    template <typename X, typename T = ingot::as_float_t<ingot::element_t<X>>>        \
    constexpr ingot::with_t<X, bool> name(const X& x) {                               \
        return ingot::each<ingot::with_t<X, bool>, T>(                                \
            [](T a) {                                                                 \
                const auto m = ingot::magnitude_bits(a), e = ingot::exponent_mask<T>; \
                return bool(condition);                                               \
            },                                                                        \
            x);                                                                       \
    }
INGOT_QUESTION(isfinite, m < e)
INGOT_QUESTION(isinf, m == e)
INGOT_QUESTION(isnan, m > e)
INGOT_QUESTION(isnormal, m < e && (m & e) != 0)
INGOT_QUESTION(signbit, m != __builtin_bit_cast(ingot::bits_of<T>, a))
#undef INGOT_QUESTION

template <typename X, typename Y>
constexpr ingot::with_t<ingot::combined_2<X, Y>, bool> isunordered(const X& x, const Y& y) {
    using Element = ingot::as_float_t<ingot::element_t<ingot::combined_2<X, Y>>>;
    return ingot::each<ingot::with_t<ingot::combined_2<X, Y>, bool>, Element>(
        [](Element a, Element b) { return isnan(a) || isnan(b); }, x, y);
}
template <typename X, typename Y>
constexpr ingot::with_t<ingot::combined_2<X, Y>, bool> isordered(const X& x, const Y& y) {
    return !isunordered(x, y);
}

constexpr bool all(bool x) {
    return x;
}
constexpr bool any(bool x) {
    return x;
}
template <int N>
constexpr bool all(const vec<bool, N>& x) {
    bool result = true;
    for (int i = 0; i < N; ++i) result &= x[i];
    return result;
}
template <int N>
constexpr bool any(const vec<bool, N>& x) {
    bool result = false;
    for (int i = 0; i < N; ++i) result |= x[i];
    return result;
}

// b where c holds, else a.
template <typename A, typename B, typename C>
constexpr ingot::combined_2<A, B> select(const A& a, const B& b, const C& c) {
    using Result = ingot::combined_2<A, B>;
    if constexpr (!ingot::is_vector<Result>) {
        return bool(c) ? Result(b) : Result(a);
    } else {
        Result result(a);
        for (int i = 0; i < ingot::width<Result>; ++i) {
            if (ingot::element_at(c, i)) result[i] = ingot::element_at(b, i);
        }
        return result;
    }
}

}  // namespace metal
