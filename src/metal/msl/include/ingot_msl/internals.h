// Functions of Apple's own headers that sources call by their inner names (`#pragma METAL internals :
// enable`); MLX does. A trailing argument says whether fast math may be used.
#pragma once

#include "math.h"
#include "relational.h"
#include "simdgroup.h"

#define INGOT_INTERNAL_1(name)                            \
    template <typename X>                                 \
    inline auto __metal_##name(const X& x, bool = true) { \
        return metal::name(x);                            \
    }
#define INGOT_INTERNAL_2(name)                                        \
    template <typename X>                                             \
    inline auto __metal_##name(const X& x, const X& y, bool = true) { \
        return metal::name(x, y);                                     \
    }
#define INGOT_INTERNAL_3(name)                                                    \
    template <typename X>                                                         \
    inline auto __metal_##name(const X& x, const X& y, const X& z, bool = true) { \
        return metal::name(x, y, z);                                              \
    }
#define INGOT_INTERNAL(name, arguments, ...) INGOT_INTERNAL_##arguments(name)
INGOT_MATH_BUILTINS(INGOT_INTERNAL)
#undef INGOT_INTERNAL
#undef INGOT_INTERNAL_1
#undef INGOT_INTERNAL_2
#undef INGOT_INTERNAL_3

template <typename X>
inline auto __metal_ldexp(const X& x, int k, bool = true) {
    return metal::ldexp(x, k);
}
template <typename X>
inline auto __metal_frexp(const X& x, int* exponent, bool = true) {
    return metal::frexp(x, *exponent);
}

#define INGOT_INTERNAL_ONE(name)          \
    template <typename X>                 \
    inline X __metal_##name(const X& x) { \
        return metal::name(x);            \
    }
#define INGOT_INTERNAL_REDUCE(name) INGOT_INTERNAL_ONE(name)
// Of the bits of floating-point values.
#define INGOT_INTERNAL_BITS(name)                                                               \
    template <typename X>                                                                       \
    inline X __metal_##name(const X& x) {                                                       \
        if constexpr (__is_floating_point(X)) {                                                 \
            return metal::as_type<X>(metal::name(metal::as_type<metal::ingot::bits_of<X>>(x))); \
        } else {                                                                                \
            return metal::name(x);                                                              \
        }                                                                                       \
    }
#define INGOT_INTERNAL_FIRST(name) INGOT_INTERNAL_ONE(name)
#define INGOT_INTERNAL_SHUFFLE(name)                    \
    template <typename X>                               \
    inline X __metal_##name(const X& x, ushort which) { \
        return metal::name(x, which);                   \
    }
#define INGOT_INTERNAL_FILL(name)                                                        \
    template <typename X>                                                                \
    inline X __metal_##name(const X& x, const X& filling, ushort delta, ushort modulo) { \
        return metal::name(x, filling, delta, modulo);                                   \
    }
#define INGOT_INTERNAL_VOTE(name)        \
    inline bool __metal_##name(bool x) { \
        return metal::name(x);           \
    }
#define INGOT_INTERNAL_BALLOT(name)       \
    inline ulong __metal_##name(bool x) { \
        return ulong(metal::name(x));     \
    }
#define INGOT_INTERNAL_IS_FIRST(name) \
    inline bool __metal_##name() {    \
        return metal::name();         \
    }
#define INGOT_INTERNAL_MASK(name)    \
    inline ulong __metal_##name() {  \
        return ulong(metal::name()); \
    }
#define INGOT_INTERNAL(enumerator, name, shape) \
    INGOT_INTERNAL_##shape(simd_##name) INGOT_INTERNAL_##shape(quad_##name)
INGOT_SIMD_BUILTINS(INGOT_INTERNAL)
#undef INGOT_INTERNAL

namespace metal::ingot::air {
INGOT_PURE ushort thread_index_in_simdgroup() __asm__("air.get_thread_index_in_simdgroup.i16");
INGOT_PURE ushort simdgroup_size() __asm__("air.get_simdgroup_size.i16");
}  // namespace metal::ingot::air

inline ushort __metal_get_thread_index_in_simdgroup(ushort) {
    return metal::ingot::air::thread_index_in_simdgroup();
}
inline ushort __metal_get_simdgroup_size(ushort) {
    return metal::ingot::air::simdgroup_size();
}
