// Declarations of AIR's functions for the elements of vectors, from the lists of builtins.h. Overloads of one
// C++ name; the label is what the compiler emits.
#pragma once

#include "builtins.h"
#include "types.h"

#define INGOT_PURE __attribute__((const))
// Meets with other threads: may not be moved into or out of branches.
#define INGOT_CONVERGENT __attribute__((convergent))

// (C++ type, suffix)
#define INGOT_FLOAT_TYPES(X, ...) \
    X(float, "f32", __VA_ARGS__)  \
    X(half, "f16", __VA_ARGS__)   \
    X(bfloat, "bf16", __VA_ARGS__)
// (C++ type, suffix with sign, suffix without, unsigned type)
#define INGOT_INTEGER_TYPES(X, ...)                \
    X(char, "s.i8", "i8", uchar, __VA_ARGS__)      \
    X(uchar, "u.i8", "i8", uchar, __VA_ARGS__)     \
    X(short, "s.i16", "i16", ushort, __VA_ARGS__)  \
    X(ushort, "u.i16", "i16", ushort, __VA_ARGS__) \
    X(int, "s.i32", "i32", uint, __VA_ARGS__)      \
    X(uint, "u.i32", "i32", uint, __VA_ARGS__)     \
    X(long, "s.i64", "i64", ulong, __VA_ARGS__)    \
    X(ulong, "u.i64", "i64", ulong, __VA_ARGS__)

namespace metal::ingot::air {

#define INGOT_MATH_1(T, suffix, name, prefix) INGOT_PURE T name(T) __asm__("air." prefix #name "." suffix);
#define INGOT_MATH_2(T, suffix, name, prefix) INGOT_PURE T name(T, T) __asm__("air." prefix #name "." suffix);
#define INGOT_MATH_3(T, suffix, name, prefix) \
    INGOT_PURE T name(T, T, T) __asm__("air." prefix #name "." suffix);

namespace precise {
#define INGOT_MATH(name, arguments, form, target, ulps) INGOT_FLOAT_TYPES(INGOT_MATH_##arguments, name, "")
INGOT_MATH_BUILTINS(INGOT_MATH)
INGOT_SHARED_MATH_BUILTINS(INGOT_MATH)
#undef INGOT_MATH
}  // namespace precise
namespace fast {
#define INGOT_MATH(name, arguments, form, target, ulps) \
    INGOT_FLOAT_TYPES(INGOT_MATH_##arguments, name, "fast_")
INGOT_MATH_BUILTINS(INGOT_MATH)
INGOT_SHARED_MATH_BUILTINS(INGOT_MATH)
#undef INGOT_MATH
}  // namespace fast

#define INGOT_UNARY(T, suffix, plain, U, name) INGOT_PURE T name(T) __asm__("air." #name "." suffix);
#define INGOT_BINARY(T, suffix, plain, U, name) INGOT_PURE T name(T, T) __asm__("air." #name "." suffix);
#define INGOT_TERNARY(T, suffix, plain, U, name) INGOT_PURE T name(T, T, T) __asm__("air." #name "." suffix);
#define INGOT_DIFFERENCE(T, suffix, plain, U, name) INGOT_PURE U name(T, T) __asm__("air." #name "." suffix);
#define INGOT_PLAIN(T, suffix, plain, U, name) INGOT_PURE T name(T) __asm__("air." #name "." plain);
#define INGOT_ROTATE(T, suffix, plain, U, name) INGOT_PURE T name(T, T) __asm__("air." #name "." plain);
#define INGOT_COUNT(T, suffix, plain, U, name) INGOT_PURE T name(T, bool) __asm__("air." #name "." plain);
#define INGOT_EXTRACT(T, suffix, plain, U, name) \
    INGOT_PURE T name(T, uint, uint) __asm__("air." #name "." suffix);
#define INGOT_INSERT(T, suffix, plain, U, name) \
    INGOT_PURE T name(T, T, uint, uint) __asm__("air." #name "." suffix);
#define INGOT_INTEGER(air, metal, shape) INGOT_INTEGER_TYPES(INGOT_##shape, air)
INGOT_INTEGER_BUILTINS(INGOT_INTEGER)
INGOT_SHARED_INTEGER_BUILTINS(INGOT_INTEGER)
#undef INGOT_INTEGER
#undef INGOT_UNARY
#undef INGOT_BINARY
#undef INGOT_TERNARY
#undef INGOT_DIFFERENCE
#undef INGOT_PLAIN
#undef INGOT_ROTATE
#undef INGOT_COUNT
#undef INGOT_EXTRACT
#undef INGOT_INSERT
#undef INGOT_MATH_1
#undef INGOT_MATH_2
#undef INGOT_MATH_3

// Functions with signatures of their own.
#define INGOT_OWN(T, suffix, ...)                            \
    INGOT_PURE T ldexp(T, int) __asm__("air.ldexp." suffix); \
    INGOT_PURE int ilogb(T) __asm__("air.ilogb." suffix);    \
    T frexp(T, int*) __asm__("air.frexp." suffix);           \
    T modf(T, T*) __asm__("air.modf." suffix);               \
    T sincos(T, T*) __asm__("air.sincos." suffix);
INGOT_FLOAT_TYPES(INGOT_OWN)
#undef INGOT_OWN

// Products of whole vectors.
#define INGOT_DOT(T, suffix, ...)                                              \
    INGOT_PURE T dot(native<T, 2>, native<T, 2>) __asm__("air.dot.v2" suffix); \
    INGOT_PURE T dot(native<T, 3>, native<T, 3>) __asm__("air.dot.v3" suffix); \
    INGOT_PURE T dot(native<T, 4>, native<T, 4>) __asm__("air.dot.v4" suffix);
INGOT_FLOAT_TYPES(INGOT_DOT)
#undef INGOT_DOT

}  // namespace metal::ingot::air
