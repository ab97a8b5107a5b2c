// Integer functions on scalars and vectors of all integer types.
#pragma once

#include "math.h"

namespace metal {

#define INGOT_UNARY(air_name, name, ...)                                                                     \
    template <typename X>                                                                                    \
    inline ingot::value_t<X> name(const X& x) {                                                              \
        return ingot::each<ingot::value_t<X>>(                                                               \
            []<typename T>(T a) { return T(ingot::air::air_name(ingot::canonical<T>(a) __VA_ARGS__)); }, x); \
    }
#define INGOT_PLAIN(air_name, name) INGOT_UNARY(air_name, name)
// A count of zeros is defined for 0.
#define INGOT_COUNT(air_name, name) INGOT_UNARY(air_name, name, , false)
#define INGOT_BINARY(air_name, name)                                                            \
    template <typename X, typename Y>                                                           \
    inline ingot::combined_2<X, Y> name(const X& x, const Y& y) {                               \
        return ingot::each<ingot::combined_2<X, Y>>(                                            \
            []<typename T>(T a, T b) {                                                          \
                return T(ingot::air::air_name(ingot::canonical<T>(a), ingot::canonical<T>(b))); \
            },                                                                                  \
            x, y);                                                                              \
    }
#define INGOT_DIFFERENCE(air_name, name)                                                             \
    template <typename X, typename Y, typename T = ingot::element_t<ingot::combined_2<X, Y>>>        \
    inline ingot::with_t<ingot::combined_2<X, Y>, make_unsigned_t<T>> name(const X& x, const Y& y) { \
        return ingot::each<ingot::with_t<ingot::combined_2<X, Y>, make_unsigned_t<T>>, T>(           \
            [](T a, T b) {                                                                           \
                return make_unsigned_t<T>(                                                           \
                    ingot::air::air_name(ingot::canonical<T>(a), ingot::canonical<T>(b)));           \
            },                                                                                       \
            x, y);                                                                                   \
    }
#define INGOT_ROTATE(air_name, name) INGOT_BINARY(air_name, name)
#define INGOT_TERNARY(air_name, name)                                                         \
    template <typename X, typename Y, typename Z>                                             \
    inline ingot::combined_3<X, Y, Z> name(const X& x, const Y& y, const Z& z) {              \
        return ingot::each<ingot::combined_3<X, Y, Z>>(                                       \
            []<typename T>(T a, T b, T c) {                                                   \
                return T(ingot::air::air_name(ingot::canonical<T>(a), ingot::canonical<T>(b), \
                                              ingot::canonical<T>(c)));                       \
            },                                                                                \
            x, y, z);                                                                         \
    }
#define INGOT_EXTRACT(air_name, name)                                                                       \
    template <typename X>                                                                                   \
    inline ingot::value_t<X> name(const X& x, uint offset, uint bits) {                                     \
        return ingot::each<ingot::value_t<X>>(                                                              \
            [=]<typename T>(T a) { return T(ingot::air::air_name(ingot::canonical<T>(a), offset, bits)); }, \
            x);                                                                                             \
    }
#define INGOT_INSERT(air_name, name)                                                                     \
    template <typename X>                                                                                \
    inline ingot::value_t<X> name(const X& base, const X& insert, uint offset, uint bits) {              \
        return ingot::each<ingot::value_t<X>>(                                                           \
            [=]<typename T>(T a, T b) {                                                                  \
                return T(                                                                                \
                    ingot::air::air_name(ingot::canonical<T>(a), ingot::canonical<T>(b), offset, bits)); \
            },                                                                                           \
            base, insert);                                                                               \
    }
#define INGOT_INTEGER(air_name, name, shape) INGOT_##shape(air_name, name)
INGOT_INTEGER_BUILTINS(INGOT_INTEGER)
#undef INGOT_INTEGER
#undef INGOT_UNARY
#undef INGOT_PLAIN
#undef INGOT_COUNT
#undef INGOT_BINARY
#undef INGOT_DIFFERENCE
#undef INGOT_ROTATE
#undef INGOT_TERNARY
#undef INGOT_EXTRACT
#undef INGOT_INSERT

}  // namespace metal
