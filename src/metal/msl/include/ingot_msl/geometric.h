// Geometric functions on vectors of floating-point values. Lengths of 16-bit vectors are computed in float.
#pragma once

#include "math.h"

namespace metal {

namespace ingot {

template <typename A, typename B>
using vector_t = enable_if_t<(width<combined_2<A, B>> > 1), float_t<combined_2<A, B>>>;
// The vector with float elements.
template <typename V>
using wide_t = with_t<V, float>;

}  // namespace ingot

template <typename A, typename B, typename V = ingot::vector_t<A, B>>
inline ingot::element_t<V> dot(const A& a, const B& b) {
    if constexpr (ingot::width<V> <= 4) {
        return ingot::air::dot(V(a).lanes, V(b).lanes);
    } else {
        const V x(a), y(b);
        ingot::element_t<V> sum = x[0] * y[0];
        for (int i = 1; i < ingot::width<V>; ++i) sum += x[i] * y[i];
        return sum;
    }
}
template <typename A, typename V = ingot::vector_t<A, A>>
inline ingot::element_t<V> length_squared(const A& a) {
    return ingot::element_t<V>(dot(ingot::wide_t<V>(V(a)), ingot::wide_t<V>(V(a))));
}
template <typename A, typename V = ingot::vector_t<A, A>>
inline ingot::element_t<V> length(const A& a) {
    return ingot::element_t<V>(sqrt(length_squared(ingot::wide_t<V>(V(a)))));
}
template <typename A, typename B, typename V = ingot::vector_t<A, B>>
inline ingot::element_t<V> distance_squared(const A& a, const B& b) {
    return length_squared(V(V(a) - V(b)));
}
template <typename A, typename B, typename V = ingot::vector_t<A, B>>
inline ingot::element_t<V> distance(const A& a, const B& b) {
    return length(V(V(a) - V(b)));
}
template <typename A, typename V = ingot::vector_t<A, A>>
inline V normalize(const A& a) {
    const ingot::wide_t<V> wide(V{a});
    return V(wide * rsqrt(length_squared(wide)));
}
template <typename A, typename B, typename V = ingot::vector_t<A, B>>
inline V cross(const A& a, const B& b) {
    static_assert(ingot::width<V> == 3, "cross takes vectors of three elements");
    const V p(a), q(b);
    return V(p.y * q.z - p.z * q.y, p.z * q.x - p.x * q.z, p.x * q.y - p.y * q.x);
}
// n, or -n where it points along `incident`, seen from `reference`.
template <typename A, typename B, typename C, typename V = ingot::vector_t<A, B>>
inline V faceforward(const A& n, const B& incident, const C& reference) {
    return dot(incident, reference) < ingot::element_t<V>(0) ? V(n) : -V(n);
}
template <typename A, typename B, typename V = ingot::vector_t<A, B>>
inline V reflect(const A& incident, const B& n) {
    return V(incident) - V(n) * (ingot::element_t<V>(2) * dot(n, incident));
}
// Zero where all light is reflected.
template <typename A, typename B, typename V = ingot::vector_t<A, B>>
inline V refract(const A& incident, const B& n, type_identity_t<ingot::element_t<V>> eta) {
    const ingot::element_t<V> cosine = dot(n, incident), one(1);
    const ingot::element_t<V> k = one - eta * eta * (one - cosine * cosine);
    return k < ingot::element_t<V>(0) ? V(ingot::element_t<V>(0))
                                      : V(incident) * eta - V(n) * (eta * cosine + sqrt(k));
}

#define INGOT_GEOMETRIC(X) \
    X(dot)                 \
    X(length_squared)      \
    X(length) X(distance_squared) X(distance) X(normalize) X(cross) X(faceforward) X(reflect) X(refract)
#define INGOT_USING(name) using metal::name;
namespace fast {
INGOT_GEOMETRIC(INGOT_USING)
}
namespace precise {
INGOT_GEOMETRIC(INGOT_USING)
}
#undef INGOT_USING
#undef INGOT_GEOMETRIC

}  // namespace metal
