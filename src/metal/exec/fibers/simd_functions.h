// Simdgroup and quadgroup functions of the fiber runtime: one entry for all of them, on values of at most 64
// bits. They act on the lanes that are active at the call. A source lane outside the simdgroup is undefined
// by Apple; here it gives the caller's own value. The compiler names operation and type by the enumerators
// below.
#pragma once

#include "metal/exec/fibers/lane.h"
#include "metal/msl/include/ingot_msl/builtins.h"

namespace ingot::metal::fibers {

enum class SimdOperation : uint32_t {
#define X(enumerator, name, shape) enumerator,
    INGOT_SIMD_BUILTINS(X)
#undef X
};

// Element type, AIR suffix, C++ type, type in which sums and products are accumulated.
#define INGOT_METAL_SIMD_TYPES(X)        \
    X(kF32, "f32", float, float)         \
    X(kF16, "f16", Half, float)          \
    X(kBF16, "bf16", Bfloat, float)      \
    X(kI8, "s.i8", int8_t, int32_t)      \
    X(kU8, "u.i8", uint8_t, uint32_t)    \
    X(kI16, "s.i16", int16_t, int32_t)   \
    X(kU16, "u.i16", uint16_t, uint32_t) \
    X(kI32, "s.i32", int32_t, int32_t)   \
    X(kU32, "u.i32", uint32_t, uint32_t) \
    X(kI64, "s.i64", int64_t, int64_t)   \
    X(kU64, "u.i64", uint64_t, uint64_t)

enum class SimdType : uint32_t {
#define X(enumerator, suffix, type, accumulator) enumerator,
    INGOT_METAL_SIMD_TYPES(X)
#undef X
};

}  // namespace ingot::metal::fibers

// `site` is the number of the call (scheduler.h). `width` is 32 (simdgroup) or 4 (quadgroup). `amount` is a
// lane, delta or mask; `modulo` the block of the fills.
extern "C" uint64_t ingot_simd(ingot::metal::fibers::Lane* me, uint32_t site, uint32_t operation,
                               uint32_t type, uint32_t width, uint64_t value, uint64_t fill, uint32_t amount,
                               uint32_t modulo);
