// The built-in functions, as lists for the preprocessor: the only place that names them. The headers here
// declare what the lists say, src/metal/jit/builtins lowers it, docs/metal.md shows it, and the test sweep
// calls every row. Included by both sides, so nothing but macros.
#pragma once

// Math and common functions on floating-point values: air.[fast_]NAME.TYPE for f32, f16 and bf16, where
// 16-bit types are computed in float and rounded once. X(name, arguments, form, target, ulps): form is how
// jit/builtins/math.cpp computes it (an intrinsic of LLVM or a function of the C library named by target, or
// an expression); ulps the error against the correctly rounded result in float that the Metal Shading
// Language specification allows the precise function.
#define INGOT_MATH_BUILTINS(X)                 \
    X(acos, 1, kLibrary, "acosf", 4)           \
    X(acosh, 1, kLibrary, "acoshf", 4)         \
    X(asin, 1, kLibrary, "asinf", 4)           \
    X(asinh, 1, kLibrary, "asinhf", 4)         \
    X(atan, 1, kLibrary, "atanf", 5)           \
    X(atan2, 2, kLibrary, "atan2f", 6)         \
    X(atanh, 1, kLibrary, "atanhf", 5)         \
    X(ceil, 1, kIntrinsic, "ceil", 0)          \
    X(copysign, 2, kIntrinsic, "copysign", 0)  \
    X(cos, 1, kIntrinsic, "cos", 4)            \
    X(cosh, 1, kLibrary, "coshf", 4)           \
    X(cospi, 1, kExpression, "", 4)            \
    X(divide, 2, kExpression, "", 0)           \
    X(exp, 1, kIntrinsic, "exp", 4)            \
    X(exp10, 1, kLibrary, "exp10f", 4)         \
    X(exp2, 1, kIntrinsic, "exp2", 4)          \
    X(fabs, 1, kIntrinsic, "fabs", 0)          \
    X(fdim, 2, kLibrary, "fdimf", 0)           \
    X(floor, 1, kIntrinsic, "floor", 0)        \
    X(fma, 3, kIntrinsic, "fma", 0)            \
    X(fmax, 2, kIntrinsic, "maxnum", 0)        \
    X(fmax3, 3, kExpression, "", 0)            \
    X(fmedian3, 3, kExpression, "", 0)         \
    X(fmin, 2, kIntrinsic, "minnum", 0)        \
    X(fmin3, 3, kExpression, "", 0)            \
    X(fmod, 2, kLibrary, "fmodf", 0)           \
    X(fract, 1, kExpression, "", 0)            \
    X(log, 1, kIntrinsic, "log", 4)            \
    X(log10, 1, kIntrinsic, "log10", 4)        \
    X(log2, 1, kIntrinsic, "log2", 4)          \
    X(mix, 3, kExpression, "", 2)              \
    X(nextafter, 2, kLibrary, "nextafterf", 0) \
    X(pow, 2, kIntrinsic, "pow", 16)           \
    X(powr, 2, kLibrary, "powf", 16)           \
    X(rint, 1, kIntrinsic, "rint", 0)          \
    X(round, 1, kIntrinsic, "round", 0)        \
    X(rsqrt, 1, kExpression, "", 2)            \
    X(saturate, 1, kExpression, "", 0)         \
    X(sign, 1, kExpression, "", 0)             \
    X(sin, 1, kIntrinsic, "sin", 4)            \
    X(sinh, 1, kLibrary, "sinhf", 4)           \
    X(sinpi, 1, kExpression, "", 4)            \
    X(smoothstep, 3, kExpression, "", 4)       \
    X(sqrt, 1, kIntrinsic, "sqrt", 0)          \
    X(step, 2, kExpression, "", 0)             \
    X(tan, 1, kLibrary, "tanf", 6)             \
    X(tanh, 1, kLibrary, "tanhf", 5)           \
    X(tanpi, 1, kExpression, "", 6)            \
    X(trunc, 1, kIntrinsic, "trunc", 0)

// More of them, behind functions that serve integers too.
#define INGOT_SHARED_MATH_BUILTINS(X) X(clamp, 3, kExpression, "", 0)

// Integer functions of all eight integer types. X(AIR's name, Metal's name, shape):
//   UNARY, BINARY, TERNARY  air.NAME.{s,u}.iN of one, two, three values of the type
//   DIFFERENCE              like BINARY, the result is unsigned
//   PLAIN                   air.NAME.iN of one value, the same for signed and unsigned
//   COUNT                   air.NAME.iN(value, i1 "zero is undefined")
//   ROTATE                  air.NAME.iN of two values
//   EXTRACT                 air.NAME.{s,u}.iN(value, i32 offset, i32 bits)
//   INSERT                  air.NAME.{s,u}.iN(base, insert, i32 offset, i32 bits)
#define INGOT_INTEGER_BUILTINS(X)          \
    X(abs_diff, absdiff, DIFFERENCE)       \
    X(add_sat, addsat, BINARY)             \
    X(clz, clz, COUNT)                     \
    X(ctz, ctz, COUNT)                     \
    X(extract_bits, extract_bits, EXTRACT) \
    X(hadd, hadd, BINARY)                  \
    X(insert_bits, insert_bits, INSERT)    \
    X(mad24, mad24, TERNARY)               \
    X(mad_hi, madhi, TERNARY)              \
    X(mad_sat, madsat, TERNARY)            \
    X(mul24, mul24, BINARY)                \
    X(mul_hi, mulhi, BINARY)               \
    X(popcount, popcount, PLAIN)           \
    X(reverse_bits, reverse_bits, PLAIN)   \
    X(rhadd, rhadd, BINARY)                \
    X(rotate, rotate, ROTATE)              \
    X(sub_sat, subsat, BINARY)
// Those whose Metal name serves floating-point values too.
#define INGOT_SHARED_INTEGER_BUILTINS(X) \
    X(abs, abs, UNARY)                   \
    X(clamp, clamp, TERNARY)             \
    X(max, max, BINARY)                  \
    X(max3, max3, TERNARY)               \
    X(median3, median3, TERNARY)         \
    X(min, min, BINARY)                  \
    X(min3, min3, TERNARY)

// Simdgroup and quadgroup functions, air.{simd,quad}_NAME.TYPE. X(enumerator, name, shape):
//   SHUFFLE  (value, i16 lane, delta or mask)
//   FILL     (value, value to fill with, i16 delta, i16 modulo)
//   FIRST    (value)
//   REDUCE   (value), arithmetic types; BITS (value), integers
//   VOTE     (i1) -> i1; BALLOT (i1) -> i64; IS_FIRST () -> i1; MASK () -> i64: no TYPE, or i64
#define INGOT_SIMD_BUILTINS(X)                             \
    X(kShuffle, shuffle, SHUFFLE)                          \
    X(kShuffleDown, shuffle_down, SHUFFLE)                 \
    X(kShuffleUp, shuffle_up, SHUFFLE)                     \
    X(kShuffleXor, shuffle_xor, SHUFFLE)                   \
    X(kRotateDown, shuffle_rotate_down, SHUFFLE)           \
    X(kRotateUp, shuffle_rotate_up, SHUFFLE)               \
    X(kFillUp, shuffle_and_fill_up, FILL)                  \
    X(kFillDown, shuffle_and_fill_down, FILL)              \
    X(kBroadcast, broadcast, SHUFFLE)                      \
    X(kBroadcastFirst, broadcast_first, FIRST)             \
    X(kIsFirst, is_first, IS_FIRST)                        \
    X(kSum, sum, REDUCE)                                   \
    X(kProduct, product, REDUCE)                           \
    X(kMin, min, REDUCE)                                   \
    X(kMax, max, REDUCE)                                   \
    X(kAnd, and, BITS)                                     \
    X(kOr, or, BITS)                                       \
    X(kXor, xor, BITS)                                     \
    X(kExclusiveSum, prefix_exclusive_sum, REDUCE)         \
    X(kInclusiveSum, prefix_inclusive_sum, REDUCE)         \
    X(kExclusiveProduct, prefix_exclusive_product, REDUCE) \
    X(kInclusiveProduct, prefix_inclusive_product, REDUCE) \
    X(kAll, all, VOTE)                                     \
    X(kAny, any, VOTE)                                     \
    X(kBallot, ballot, BALLOT)                             \
    X(kActiveMask, active_threads_mask, MASK)

// Read-modify-write functions, air.atomic.SPACE.NAME.{s.i32,u.i32,f32,u.i64}. X(Metal's name, name)
#define INGOT_ATOMIC_BUILTINS(X) \
    X(fetch_add, add)            \
    X(fetch_sub, sub)            \
    X(fetch_min, min)            \
    X(fetch_max, max)            \
    X(fetch_and, and)            \
    X(fetch_or, or)              \
    X(fetch_xor, xor)

// Pack and unpack, air.{pack,unpack}.NAME.vN{f32,f16}. X(AIR's name, N, word, Metal's name when it unpacks,
// when it packs, signed, sRGB, bits of each field from the lowest on)
#define INGOT_PACK_BUILTINS(X)                                                         \
    X("unorm4x8", 4, uint, unorm4x8, unorm4x8, false, false, 8, 8, 8, 8)               \
    X("snorm4x8", 4, uint, snorm4x8, snorm4x8, true, false, 8, 8, 8, 8)                \
    X("unorm4x8.srgb", 4, uint, unorm4x8_srgb, srgb_unorm4x8, false, true, 8, 8, 8, 8) \
    X("unorm2x16", 2, uint, unorm2x16, unorm2x16, false, false, 16, 16, 0, 0)          \
    X("snorm2x16", 2, uint, snorm2x16, snorm2x16, true, false, 16, 16, 0, 0)           \
    X("unorm.rgb10a2", 4, uint, unorm10a2, unorm10a2, false, false, 10, 10, 10, 2)     \
    X("unorm.rgb565", 3, ushort, unorm565, unorm565, false, false, 5, 6, 5, 0)
