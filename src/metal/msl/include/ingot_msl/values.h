// How built-in functions treat their arguments: what scalars, vectors and packed vectors combine to, and one
// call an element.
#pragma once

#include "vec.h"

namespace metal::ingot {

// type: what arithmetic on a value gives (packed vectors unpack). Not there for other types, which takes a
// built-in function out of overload resolution.
template <typename T>
struct value_of : enable_if<__is_arithmetic(T), conditional_t<__is_same(T, double), float, T>> {
    using element = conditional_t<__is_same(T, double), float, T>;
    template <typename U>
    using with = U;
};
template <typename T, int N>
struct value_of<vec<T, N>> {
    using type = vec<T, N>;
    using element = T;
    template <typename U>
    using with = vec<U, N>;
};
template <typename T, int N>
struct value_of<packed_vec<T, N>> : value_of<vec<T, N>> {};

template <typename V>
using value_t = typename value_of<V>::type;
template <typename V>
using element_t = typename value_of<V>::element;

// Integers count as float for functions of floating-point values, and so does a literal that is still a
// double.
template <typename T>
using as_float_t = conditional_t<__is_floating_point(T) && sizeof(T) <= sizeof(float), T, float>;
template <typename V, typename Value = value_t<V>>
using float_t = typename value_of<V>::template with<as_float_t<element_t<V>>>;
// The type with another element.
template <typename V, typename T, typename Value = value_t<V>>
using with_t = typename value_of<V>::template with<T>;

// A vector wins over a scalar; scalars give their common type.
template <typename A, typename B, bool AIsScalar = __is_arithmetic(A), bool BIsScalar = __is_arithmetic(B)>
struct combined {
    using type = A;
};
template <typename A, typename B>
struct combined<A, B, true, false> {
    using type = B;
};
template <typename A, typename B>
struct combined<A, B, true, true> : common_type<A, B> {};
template <typename T>
struct combined<T, T, true, true> {
    using type = T;
};
template <typename A, typename B>
using combined_2 = typename combined<value_t<A>, value_t<B>>::type;
template <typename A, typename B, typename C>
using combined_3 = combined_2<combined_2<A, B>, C>;

// Element K of a value as a T; every element of a scalar is itself.
template <int K, typename T, typename V>
constexpr T element_of(const V& value) {
    if constexpr (!is_vector<V>) {
        return convert<T>(value);
    } else {
        return convert<T>(value.template get<K>());
    }
}
// Element i, for loops.
template <typename V>
constexpr element_t<V> element_at(const V& value, int i) {
    if constexpr (!is_vector<V>) {
        return value;
    } else {
        return value[i];
    }
}
template <int K, typename T, typename F, typename... V>
constexpr auto apply(F function, const V&... values) {
    return function(element_of<K, T>(values)...);
}
template <typename Result, typename T, int... K, typename F, typename... V>
constexpr Result each_of(sequence<int, K...>, F function, const V&... values) {
    return Result(apply<K, T>(function, values...)...);
}
// function(elements of type T of values...) for each element of Result.
template <typename Result, typename T = element_t<Result>, typename F, typename... V>
constexpr Result each(F function, const V&... values) {
    if constexpr (!is_vector<Result>) {
        return function(convert<T>(values)...);
    } else {
        return each_of<Result, T>(indices<width<Result>>{}, function, values...);
    }
}

}  // namespace metal::ingot
