// Simdgroup and quadgroup functions of all scalar types and vectors; votes.
#pragma once

#include "math.h"

namespace metal {

namespace ingot {
namespace air {

// One overload for the type and one for each width of vector that AIR has.
#define INGOT_WIDTHS(T, suffix, declare, name)                                                 \
    declare(T, suffix(""), name) declare(native<T INGOT_COMMA 2>, suffix("v2"), name) declare( \
        native<T INGOT_COMMA 3>, suffix("v3"), name) declare(native<T INGOT_COMMA 4>, suffix("v4"), name)
#define INGOT_COMMA ,
#define INGOT_F32(v) v "f32"
#define INGOT_F16(v) v "f16"
#define INGOT_BF16(v) v "bf16"
#define INGOT_S8(v) "s." v "i8"
#define INGOT_U8(v) "u." v "i8"
#define INGOT_S16(v) "s." v "i16"
#define INGOT_U16(v) "u." v "i16"
#define INGOT_S32(v) "s." v "i32"
#define INGOT_U32(v) "u." v "i32"
#define INGOT_S64(v) "s." v "i64"
#define INGOT_U64(v) "u." v "i64"
#define INGOT_INTEGERS(declare, name)              \
    INGOT_WIDTHS(char, INGOT_S8, declare, name)    \
    INGOT_WIDTHS(uchar, INGOT_U8, declare, name)   \
    INGOT_WIDTHS(short, INGOT_S16, declare, name)  \
    INGOT_WIDTHS(ushort, INGOT_U16, declare, name) \
    INGOT_WIDTHS(int, INGOT_S32, declare, name)    \
    INGOT_WIDTHS(uint, INGOT_U32, declare, name)   \
    INGOT_WIDTHS(long, INGOT_S64, declare, name)   \
    INGOT_WIDTHS(ulong, INGOT_U64, declare, name)
#define INGOT_ALL(declare, name)                    \
    INGOT_WIDTHS(float, INGOT_F32, declare, name)   \
    INGOT_WIDTHS(half, INGOT_F16, declare, name)    \
    INGOT_WIDTHS(bfloat, INGOT_BF16, declare, name) \
    INGOT_INTEGERS(declare, name)
#define INGOT_ONE(T, suffix, name) INGOT_CONVERGENT T name(T) __asm__("air." #name "." suffix);
#define INGOT_MOVE(T, suffix, name) INGOT_CONVERGENT T name(T, ushort) __asm__("air." #name "." suffix);
#define INGOT_FILLS(T, suffix, name) \
    INGOT_CONVERGENT T name(T, T, ushort, ushort) __asm__("air." #name "." suffix);
#define INGOT_REDUCE(name) INGOT_ALL(INGOT_ONE, name)
#define INGOT_BITS(name) INGOT_INTEGERS(INGOT_ONE, name)
#define INGOT_FIRST(name) INGOT_ALL(INGOT_ONE, name)
#define INGOT_SHUFFLE(name) INGOT_ALL(INGOT_MOVE, name)
#define INGOT_FILL(name) INGOT_ALL(INGOT_FILLS, name)
#define INGOT_VOTE(name) INGOT_CONVERGENT bool name(bool) __asm__("air." #name);
#define INGOT_BALLOT(name) INGOT_CONVERGENT ulong name(bool) __asm__("air." #name ".i64");
#define INGOT_IS_FIRST(name) INGOT_CONVERGENT bool name() __asm__("air." #name);
#define INGOT_MASK(name) INGOT_CONVERGENT ulong name() __asm__("air." #name ".i64");
#define INGOT_SIMD(enumerator, name, shape) INGOT_##shape(simd_##name) INGOT_##shape(quad_##name)
INGOT_SIMD_BUILTINS(INGOT_SIMD)
#undef INGOT_REDUCE
#undef INGOT_BITS
#undef INGOT_FIRST
#undef INGOT_SHUFFLE
#undef INGOT_FILL
#undef INGOT_VOTE
#undef INGOT_BALLOT
#undef INGOT_IS_FIRST
#undef INGOT_MASK

}  // namespace air

// function(values) of AIR's types: vectors of up to four elements at once, larger ones by element.
template <typename V, typename F, typename... Values>
inline V meet(F function, const Values&... values) {
    using T = element_t<V>;
    if constexpr (!is_vector<V>) {
        return V(function(canonical<T>(values)...));
    } else if constexpr (width<V> <= 4) {
        using Lanes = native<canonical<T>, width<V>>;
        return from_lanes<T, width<V>>(__builtin_convertvector(
            function(__builtin_convertvector(V(values).lanes, Lanes)...), native<T, width<V>>));
    } else {
        V result(values...);
        for (int i = 0; i < width<V>; ++i) result[i] = T(function(canonical<T>(values[i])...));
        return result;
    }
}

}  // namespace ingot

// What a ballot gives: a bit for each active thread for which it holds.
#define INGOT_VOTE_CLASS(name, width)                                                   \
    class name {                                                                        \
      public:                                                                           \
        using vote_t = ulong;                                                           \
        name() = default;                                                               \
        explicit constexpr name(vote_t votes) : votes_(votes & ((1ul << width) - 1)) {} \
        explicit constexpr operator vote_t() const {                                    \
            return votes_;                                                              \
        }                                                                               \
        constexpr bool all() const {                                                    \
            return votes_ == (1ul << width) - 1;                                        \
        }                                                                               \
        constexpr bool any() const {                                                    \
            return votes_ != 0;                                                         \
        }                                                                               \
                                                                                        \
      private:                                                                          \
        vote_t votes_ = 0;                                                              \
    };
INGOT_VOTE_CLASS(simd_vote, 32)
INGOT_VOTE_CLASS(quad_vote, 4)
#undef INGOT_VOTE_CLASS

#define INGOT_REDUCE(group, name)                                                                       \
    template <typename X>                                                                               \
    inline ingot::value_t<X> group##_##name(const X& x) {                                               \
        return ingot::meet<ingot::value_t<X>>([](auto a) { return ingot::air::group##_##name(a); }, x); \
    }
#define INGOT_BITS(group, name) INGOT_REDUCE(group, name)
#define INGOT_FIRST(group, name) INGOT_REDUCE(group, name)
#define INGOT_SHUFFLE(group, name)                                                                          \
    template <typename X>                                                                                   \
    inline ingot::value_t<X> group##_##name(const X& x, ushort which) {                                     \
        return ingot::meet<ingot::value_t<X>>([=](auto a) { return ingot::air::group##_##name(a, which); }, \
                                              x);                                                           \
    }
#define INGOT_FILL(group, name)                                                                           \
    template <typename X>                                                                                 \
    inline ingot::value_t<X> group##_##name(const X& x, const X& filling, ushort delta,                   \
                                            ushort modulo = ingot::group##_width) {                       \
        return ingot::meet<ingot::value_t<X>>(                                                            \
            [=](auto a, auto f) { return ingot::air::group##_##name(a, f, delta, modulo); }, x, filling); \
    }
#define INGOT_VOTE(group, name)               \
    inline bool group##_##name(bool x) {      \
        return ingot::air::group##_##name(x); \
    }
#define INGOT_BALLOT(group, name)                           \
    inline group##_vote group##_##name(bool x) {            \
        return group##_vote(ingot::air::group##_##name(x)); \
    }
#define INGOT_IS_FIRST(group, name)          \
    inline bool group##_##name() {           \
        return ingot::air::group##_##name(); \
    }
#define INGOT_MASK(group, name)                            \
    inline group##_vote group##_##name() {                 \
        return group##_vote(ingot::air::group##_##name()); \
    }
namespace ingot {
inline constexpr ushort simd_width = 32, quad_width = 4;
}
#define INGOT_SIMD_PUBLIC(enumerator, name, shape) INGOT_##shape(simd, name) INGOT_##shape(quad, name)
INGOT_SIMD_BUILTINS(INGOT_SIMD_PUBLIC)

}  // namespace metal
