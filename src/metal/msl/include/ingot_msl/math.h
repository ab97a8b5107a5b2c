// Math and common functions on floating-point values (integers count as float), scalars and vectors of any
// width, and abs, min, max, clamp and their like, which serve integers too. `fast` is what an unqualified
// name means unless the source is compiled with precise math.
#pragma once

#include "air.h"
#include "values.h"

namespace metal {

#define INGOT_FLOAT_1(mode, name)                                                                   \
    template <typename X>                                                                           \
    inline ingot::float_t<X> name(const X& x) {                                                     \
        return ingot::each<ingot::float_t<X>>([](auto a) { return ingot::air::mode::name(a); }, x); \
    }
#define INGOT_FLOAT_2(mode, name)                                                 \
    template <typename X, typename Y>                                             \
    inline ingot::float_t<ingot::combined_2<X, Y>> name(const X& x, const Y& y) { \
        return ingot::each<ingot::float_t<ingot::combined_2<X, Y>>>(              \
            [](auto a, auto b) { return ingot::air::mode::name(a, b); }, x, y);   \
    }
#define INGOT_FLOAT_3(mode, name)                                                                \
    template <typename X, typename Y, typename Z>                                                \
    inline ingot::float_t<ingot::combined_3<X, Y, Z>> name(const X& x, const Y& y, const Z& z) { \
        return ingot::each<ingot::float_t<ingot::combined_3<X, Y, Z>>>(                          \
            [](auto a, auto b, auto c) { return ingot::air::mode::name(a, b, c); }, x, y, z);    \
    }
namespace fast {
#define INGOT_MATH(name, arguments, form, target, ulps) INGOT_FLOAT_##arguments(fast, name)
INGOT_MATH_BUILTINS(INGOT_MATH)
#undef INGOT_MATH
}  // namespace fast
namespace precise {
#define INGOT_MATH(name, arguments, form, target, ulps) INGOT_FLOAT_##arguments(precise, name)
INGOT_MATH_BUILTINS(INGOT_MATH)
#undef INGOT_MATH
}  // namespace precise
#undef INGOT_FLOAT_1
#undef INGOT_FLOAT_2
#undef INGOT_FLOAT_3

#ifdef INGOT_PRECISE_MATH
#define INGOT_MATH_MODE precise
#else
#define INGOT_MATH_MODE fast
#endif
#define INGOT_MATH(name, ...) using INGOT_MATH_MODE::name;
INGOT_MATH_BUILTINS(INGOT_MATH)
#undef INGOT_MATH

namespace ingot {

// The type of the same size and sign that AIR's functions are declared for: int8_t is no char.
template <typename T>
using canonical = conditional_t<
    __is_floating_point(T), T,
    conditional_t<sizeof(T) == 1, conditional_t<__is_signed(T), char, uchar>,
                  conditional_t<sizeof(T) == 2, conditional_t<__is_signed(T), short, ushort>,
                                conditional_t<sizeof(T) == 4, conditional_t<__is_signed(T), int, uint>,
                                              conditional_t<__is_signed(T), long, ulong>>>>>;

template <typename T>
constexpr T abs_of(T x) {
    if (__builtin_is_constant_evaluated()) return T(x < T(0) ? -x : x);
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::fabs(x);
    else if constexpr (__is_signed(T))
        return T(air::abs(canonical<T>(x)));
    else
        return x;
}
template <typename T>
constexpr T min_of(T x, T y) {
    if (__builtin_is_constant_evaluated()) return y < x || x != x ? y : x;
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::fmin(x, y);
    else
        return T(air::min(canonical<T>(x), canonical<T>(y)));
}
template <typename T>
constexpr T max_of(T x, T y) {
    if (__builtin_is_constant_evaluated()) return x < y || x != x ? y : x;
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::fmax(x, y);
    else
        return T(air::max(canonical<T>(x), canonical<T>(y)));
}
template <typename T>
constexpr T clamp_of(T x, T low, T high) {
    if (__builtin_is_constant_evaluated()) return min_of(max_of(x, low), high);
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::clamp(x, low, high);
    else
        return T(air::clamp(canonical<T>(x), canonical<T>(low), canonical<T>(high)));
}
template <typename T>
inline T min3_of(T x, T y, T z) {
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::fmin3(x, y, z);
    else
        return T(air::min3(canonical<T>(x), canonical<T>(y), canonical<T>(z)));
}
template <typename T>
inline T max3_of(T x, T y, T z) {
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::fmax3(x, y, z);
    else
        return T(air::max3(canonical<T>(x), canonical<T>(y), canonical<T>(z)));
}
template <typename T>
inline T median3_of(T x, T y, T z) {
    if constexpr (__is_floating_point(T))
        return air::INGOT_MATH_MODE::fmedian3(x, y, z);
    else
        return T(air::median3(canonical<T>(x), canonical<T>(y), canonical<T>(z)));
}

}  // namespace ingot

#define INGOT_UNARY(name)                                                                     \
    template <typename X>                                                                     \
    constexpr ingot::value_t<X> name(const X& x) {                                            \
        return ingot::each<ingot::value_t<X>>([](auto a) { return ingot::name##_of(a); }, x); \
    }
#define INGOT_BINARY(name)                                                                                 \
    template <typename X, typename Y>                                                                      \
    constexpr ingot::combined_2<X, Y> name(const X& x, const Y& y) {                                       \
        return ingot::each<ingot::combined_2<X, Y>>([](auto a, auto b) { return ingot::name##_of(a, b); }, \
                                                    x, y);                                                 \
    }
#define INGOT_TERNARY(name)                                                             \
    template <typename X, typename Y, typename Z>                                       \
    constexpr ingot::combined_3<X, Y, Z> name(const X& x, const Y& y, const Z& z) {     \
        return ingot::each<ingot::combined_3<X, Y, Z>>(                                 \
            [](auto a, auto b, auto c) { return ingot::name##_of(a, b, c); }, x, y, z); \
    }
#define INGOT_SHARED(air, name, shape) INGOT_##shape(name)
INGOT_SHARED_INTEGER_BUILTINS(INGOT_SHARED)
#undef INGOT_UNARY
#undef INGOT_BINARY
#undef INGOT_TERNARY

template <typename X, typename K>
inline ingot::float_t<X> ldexp(const X& x, const K& k) {
    return ingot::each<ingot::float_t<X>>([](auto a, auto n) { return ingot::air::ldexp(a, int(n)); }, x, k);
}
template <typename X>
inline ingot::with_t<X, int> ilogb(const X& x) {
    using Element = ingot::element_t<ingot::float_t<X>>;
    return ingot::each<ingot::with_t<X, int>, Element>([](auto a) { return ingot::air::ilogb(a); }, x);
}

namespace ingot {

// name(x, where the second result goes): element after element.
template <typename X, typename Second, typename F>
inline float_t<X> with_second(const X& x, Second& second, F function) {
    if constexpr (!is_vector<X>) {
        return function(float_t<X>(x), &second);
    } else {
        float_t<X> result;
        for (int i = 0; i < width<X>; ++i) {
            result.elements[i] = function(element_t<float_t<X>>(x.elements[i]), &second.elements[i]);
        }
        return result;
    }
}

}  // namespace ingot

template <typename X>
inline ingot::float_t<X> frexp(const X& x, ingot::with_t<X, int>& exponent) {
    return ingot::with_second(x, exponent, [](auto a, int* e) { return ingot::air::frexp(a, e); });
}
template <typename X>
inline ingot::float_t<X> modf(const X& x, ingot::float_t<X>& whole) {
    return ingot::with_second(x, whole, [](auto a, auto* w) { return ingot::air::modf(a, w); });
}
template <typename X>
inline ingot::float_t<X> sincos(const X& x, ingot::float_t<X>& cosine) {
    return ingot::with_second(x, cosine, [](auto a, auto* c) { return ingot::air::sincos(a, c); });
}

#define INGOT_SHARED_WITH_MODES(air, name, shape) using metal::name;
namespace fast {
INGOT_SHARED_INTEGER_BUILTINS(INGOT_SHARED_WITH_MODES)
using metal::frexp;
using metal::ilogb;
using metal::ldexp;
using metal::modf;
using metal::sincos;
}  // namespace fast
namespace precise {
INGOT_SHARED_INTEGER_BUILTINS(INGOT_SHARED_WITH_MODES)
using metal::frexp;
using metal::ilogb;
using metal::ldexp;
using metal::modf;
using metal::sincos;
}  // namespace precise
#undef INGOT_SHARED
#undef INGOT_SHARED_WITH_MODES

}  // namespace metal
