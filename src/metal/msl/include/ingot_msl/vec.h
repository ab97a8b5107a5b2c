// vec<T, N> and packed_vec<T, N> for any N, their constructors, operators and swizzles, and conversions.
// A vec of 2, 3 or 4 has Metal's size and alignment (float3: 16 and 16), a packed one its elements' (12 and
// 4). Operators are friends and no templates, so that they beat a source's own unconstrained operator
// templates. What runs is one vector operation of LLVM; constant expressions go element by element.
// The front end rewrites v.xyz to v.swizzle<0, 1, 2>(), and to swizzle_ref where it sees that it is assigned
// to. Where it doesn't see it, a temporary would take what is stored: those can't be assigned to.
#pragma once

#include "type_traits.h"

namespace metal {

template <typename T, int N>
struct vec;
template <typename T, int N>
struct packed_vec;

namespace ingot {

template <typename T>
inline constexpr bool is_scalar = __is_arithmetic(T) || __is_enum(T);
template <typename T>
inline constexpr bool is_vector = false;
template <typename T, int N>
inline constexpr bool is_vector<vec<T, N>> = true;
template <typename T, int N>
inline constexpr bool is_vector<packed_vec<T, N>> = true;
// Elements of a scalar or vector; 0 of anything else.
template <typename T>
inline constexpr int width = is_scalar<T> ? 1 : 0;
template <typename T, int N>
inline constexpr int width<vec<T, N>> = N;
template <typename T, int N>
inline constexpr int width<packed_vec<T, N>> = N;

// One element to another type. half and bfloat meet in float.
template <typename T, typename U>
constexpr T convert(U value) {
    if constexpr ((__is_same(T, half) && __is_same(U, bfloat)) ||
                  (__is_same(T, bfloat) && __is_same(U, half))) {
        return T(float(value));
    } else {
        return T(value);
    }
}

template <typename T, typename U, int N>
inline native<T, N> convert_lanes(native<U, N> lanes) {
    if constexpr (__is_same(T, U)) {
        return lanes;
    } else if constexpr (__is_same(T, bool)) {
        return __builtin_convertvector(lanes != native<U, N>(0), native<bool, N>) & (unsigned char)1;
    } else if constexpr ((__is_same(T, half) && __is_same(U, bfloat)) ||
                         (__is_same(T, bfloat) && __is_same(U, half))) {
        return __builtin_convertvector(__builtin_convertvector(lanes, native<float, N>), native<T, N>);
    } else {
        return __builtin_convertvector(lanes, native<T, N>);
    }
}

template <typename T, int N>
struct vec_storage {
    union {
        T elements[N];
        native<T, N> lanes;
    };
    vec_storage() = default;
    constexpr explicit vec_storage(T s) : elements{} {
        for (int i = 0; i < N; ++i) elements[i] = s;
    }
    template <typename... E>
        requires(sizeof...(E) == N && N > 1)
    constexpr vec_storage(E... e) : elements{e...} {}
    constexpr T& lane(int i) { return elements[i]; }
    constexpr const T& lane(int i) const { return elements[i]; }
    template <int K>
    constexpr const T& get() const {
        return elements[K];
    }
};
template <typename T>
struct vec_storage<T, 2> {
    union {
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
        T elements[2];
        native<T, 2> lanes;
    };
    vec_storage() = default;
    constexpr explicit vec_storage(T s) : x(s), y(s) {}
    constexpr vec_storage(T x_, T y_) : x(x_), y(y_) {}
    constexpr T& lane(int i) { return i == 0 ? x : y; }
    constexpr const T& lane(int i) const { return i == 0 ? x : y; }
    template <int K>
    constexpr const T& get() const {
        if constexpr (K == 0) return x;
        if constexpr (K == 1) return y;
    }
};
template <typename T>
struct vec_storage<T, 3> {
    union {
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
        T elements[3];
        native<T, 3> lanes;
    };
    vec_storage() = default;
    constexpr explicit vec_storage(T s) : x(s), y(s), z(s) {}
    constexpr vec_storage(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
    constexpr T& lane(int i) { return i == 0 ? x : i == 1 ? y : z; }
    constexpr const T& lane(int i) const { return i == 0 ? x : i == 1 ? y : z; }
    template <int K>
    constexpr const T& get() const {
        if constexpr (K == 0) return x;
        if constexpr (K == 1) return y;
        if constexpr (K == 2) return z;
    }
};
template <typename T>
struct vec_storage<T, 4> {
    union {
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
        T elements[4];
        native<T, 4> lanes;
    };
    vec_storage() = default;
    constexpr explicit vec_storage(T s) : x(s), y(s), z(s), w(s) {}
    constexpr vec_storage(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
    constexpr T& lane(int i) { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
    constexpr const T& lane(int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
    template <int K>
    constexpr const T& get() const {
        if constexpr (K == 0) return x;
        if constexpr (K == 1) return y;
        if constexpr (K == 2) return z;
        if constexpr (K == 3) return w;
    }
};

template <typename T, int N>
struct packed_storage {
    T elements[N];
    packed_storage() = default;
    template <typename... E>
        requires(sizeof...(E) == N)
    constexpr packed_storage(E... e) : elements{e...} {}
    constexpr T& lane(int i) { return elements[i]; }
    constexpr const T& lane(int i) const { return elements[i]; }
    template <int K>
    constexpr const T& get() const {
        return elements[K];
    }
};
template <typename T>
struct packed_storage<T, 2> {
    union {
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
        T elements[2];
    };
    packed_storage() = default;
    constexpr packed_storage(T x_, T y_) : x(x_), y(y_) {}
    constexpr T& lane(int i) { return i == 0 ? x : y; }
    constexpr const T& lane(int i) const { return i == 0 ? x : y; }
    template <int K>
    constexpr const T& get() const {
        if constexpr (K == 0) return x;
        if constexpr (K == 1) return y;
    }
};
template <typename T>
struct packed_storage<T, 3> {
    union {
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
        T elements[3];
    };
    packed_storage() = default;
    constexpr packed_storage(T x_, T y_, T z_) : x(x_), y(y_), z(z_) {}
    constexpr T& lane(int i) { return i == 0 ? x : i == 1 ? y : z; }
    constexpr const T& lane(int i) const { return i == 0 ? x : i == 1 ? y : z; }
    template <int K>
    constexpr const T& get() const {
        if constexpr (K == 0) return x;
        if constexpr (K == 1) return y;
        if constexpr (K == 2) return z;
    }
};
template <typename T>
struct packed_storage<T, 4> {
    union {
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
        T elements[4];
    };
    packed_storage() = default;
    constexpr packed_storage(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
    constexpr T& lane(int i) { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
    constexpr const T& lane(int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
    template <int K>
    constexpr const T& get() const {
        if constexpr (K == 0) return x;
        if constexpr (K == 1) return y;
        if constexpr (K == 2) return z;
        if constexpr (K == 3) return w;
    }
};

// The type that stands in a constructor's place where it must not exist.
struct nothing {};
// half for bfloat and the reverse: the one pair that C++ doesn't convert by itself.
template <typename T>
struct other_half {
    using type = nothing;
};
template <>
struct other_half<half> {
    using type = bfloat;
};
template <>
struct other_half<bfloat> {
    using type = half;
};

template <typename T, T... Values>
struct sequence {};
template <int N>
using indices = __make_integer_seq<sequence, int, N>;

// Element K of the elements of all arguments, in order.
template <int K, typename T, typename First, typename... Rest>
constexpr T pick(const First& first, const Rest&... rest) {
    if constexpr (K >= width<First>) {
        return pick<K - width<First>, T>(rest...);
    } else if constexpr (is_vector<First>) {
        return convert<T>(first.template get<K>());
    } else {
        return convert<T>(first);
    }
}

template <typename T, int N>
constexpr vec<T, N> from_lanes(native<T, N> lanes) {
    vec<T, N> result;
    result.lanes = lanes;
    return result;
}

// By which a class with a member named like a swizzle tells that one from others (the front end's
// swizzles.cpp).
template <int... I>
struct swizzle_of {};
template <typename Member, int... I>
inline constexpr bool is_swizzle = false;
template <int... I>
inline constexpr bool is_swizzle<swizzle_of<I...>, I...> = true;

template <int... I>
inline constexpr int indices_of[] = {I...};

// Elements I... of a vector as a target of assignment.
template <typename T, int... I>
struct swizzle_reference {
    using value = vec<T, int(sizeof...(I))>;
    T* elements;
    constexpr operator value() const { return value(elements[I]...); }
    constexpr const swizzle_reference& operator=(const value& v) const {
        int k = 0;
        ((elements[I] = v.lane(k++)), ...);
        return *this;
    }
    constexpr const swizzle_reference& operator=(const swizzle_reference& other) const {
        return *this = value(other);
    }
#define INGOT_ASSIGN(op)                                                       \
    constexpr const swizzle_reference& operator op##=(const value & v) const { \
        return *this = value(*this) op v;                                      \
    }
    INGOT_ASSIGN(+)
    INGOT_ASSIGN(-)
    INGOT_ASSIGN(*)
    INGOT_ASSIGN(/)
    INGOT_ASSIGN(%)
    INGOT_ASSIGN(&)
    INGOT_ASSIGN(|)
    INGOT_ASSIGN(^)
    INGOT_ASSIGN(<<)
    INGOT_ASSIGN(>>)
#undef INGOT_ASSIGN
    constexpr const swizzle_reference& operator++() const { return *this += value(T(1)); }
    constexpr const swizzle_reference& operator--() const { return *this -= value(T(1)); }
    constexpr value operator++(int) const {
        const value before(*this);
        ++*this;
        return before;
    }
    constexpr value operator--(int) const {
        const value before(*this);
        --*this;
        return before;
    }
    // v.xyz.zy, v.xyz.z and v.xyz[2]
    template <int... K>
    constexpr swizzle_reference<T, indices_of<I...>[K]...> swizzle_ref() const {
        return {elements};
    }
    constexpr T& operator[](int k) const { return elements[indices_of<I...>[k]]; }
};

}  // namespace ingot

template <typename T, int N>
struct vec : ingot::vec_storage<T, N> {
    using storage = ingot::vec_storage<T, N>;
    using value_type = T;
    using storage::elements;
    using storage::lane;
    using storage::lanes;

    vec() = default;
    vec(const vec&) = default;
    constexpr vec& operator=(const vec&) & = default;
    constexpr vec(T s) : storage(s) {}
    template <typename U>
        requires(__is_same(U, typename ingot::other_half<T>::type))
    constexpr explicit vec(U s) : storage(T(float(s))) {}
    template <typename U>
    constexpr explicit vec(const vec<U, N>& other) {
        if (__builtin_is_constant_evaluated()) {
            *this = vec(T(0));
            for (int i = 0; i < N; ++i) lane(i) = ingot::convert<T>(other.lane(i));
        } else {
            lanes = ingot::convert_lanes<T, U, N>(other.lanes);
        }
    }
    template <typename U>
        requires(!__is_same(T, U))
    constexpr explicit vec(const packed_vec<U, N>& other) : vec(vec<U, N>(other)) {}
    // One scalar an element.
    template <typename A, typename B, typename... E>
        requires(2 + sizeof...(E) == N && !ingot::is_vector<A> && !ingot::is_vector<B> &&
                 (!ingot::is_vector<E> && ...))
    constexpr vec(const A& a, const B& b, const E&... e)
        : storage(ingot::convert<T>(a), ingot::convert<T>(b), ingot::convert<T>(e)...) {}
    // Braces around fewer scalars leave zeros. (C++ can't tell braces from parentheses, where Metal refuses
    // it.)
    template <typename A, typename B, typename... E>
        requires(2 + sizeof...(E) < N && N <= 4 && ingot::is_scalar<A> && ingot::is_scalar<B> &&
                 (ingot::is_scalar<E> && ...))
    constexpr vec(const A& a, const B& b, const E&... e)
        : vec(ingot::indices<N>{}, a, b, e..., vec<T, 4>(T(0))) {}
    // Scalars and vectors whose elements add up to N.
    template <typename A, typename B, typename... Rest>
        requires((ingot::is_vector<A> || ingot::is_vector<B> || (ingot::is_vector<Rest> || ...)) &&
                 ingot::width<A> > 0 && ingot::width<B> > 0 &&
                 ingot::width<A> + ingot::width<B> + (ingot::width<Rest> + ... + 0) == N)
    constexpr vec(const A& a, const B& b, const Rest&... rest) : vec(ingot::indices<N>{}, a, b, rest...) {}

    constexpr T& operator[](int i) & {
        if (__builtin_is_constant_evaluated()) return lane(i);
        return elements[i];
    }
    constexpr const T& operator[](int i) const& {
        if (__builtin_is_constant_evaluated()) return lane(i);
        return elements[i];
    }
    template <int... I>
    constexpr vec<T, int(sizeof...(I))> swizzle() const {
        return vec<T, int(sizeof...(I))>(this->template get<I>()...);
    }
    template <int... I>
    constexpr ingot::swizzle_reference<T, I...> swizzle_ref() & {
        return {elements};
    }

#define INGOT_BINARY(op)                                                                            \
    friend constexpr vec operator op(const vec& a, const vec& b) {                                  \
        if (!__builtin_is_constant_evaluated()) return ingot::from_lanes<T, N>(a.lanes op b.lanes); \
        vec result(a);                                                                              \
        for (int i = 0; i < N; ++i) result.lane(i) = T(a.lane(i) op b.lane(i));                     \
        return result;                                                                              \
    }                                                                                               \
    friend constexpr vec operator op(const vec& a, T b) { return a op vec(b); }                     \
    friend constexpr vec operator op(T a, const vec& b) { return vec(a) op b; }                     \
    constexpr vec& operator op##=(const vec & other)& { return *this = *this op other; }
    INGOT_BINARY(+)
    INGOT_BINARY(-)
    INGOT_BINARY(*)
    INGOT_BINARY(/)
    INGOT_BINARY(%)
    INGOT_BINARY(&)
    INGOT_BINARY(|)
    INGOT_BINARY(^)
    INGOT_BINARY(<<)
    INGOT_BINARY(>>)
#undef INGOT_BINARY

#define INGOT_COMPARISON(op)                                                                             \
    friend constexpr vec<bool, N> operator op(const vec & a, const vec & b) {                            \
        if (!__builtin_is_constant_evaluated())                                                          \
            return ingot::from_lanes<bool, N>(                                                           \
                __builtin_convertvector(a.lanes op b.lanes, ingot::native<bool, N>) & (unsigned char)1); \
        vec<bool, N> result(false);                                                                      \
        for (int i = 0; i < N; ++i) result.lane(i) = a.lane(i) op b.lane(i);                             \
        return result;                                                                                   \
    }                                                                                                    \
    friend constexpr vec<bool, N> operator op(const vec & a, T b) { return a op vec(b); }                \
    friend constexpr vec<bool, N> operator op(T a, const vec & b) { return vec(a) op b; }
    INGOT_COMPARISON(==)
    INGOT_COMPARISON(!=)
    INGOT_COMPARISON(<)
    INGOT_COMPARISON(>)
    INGOT_COMPARISON(<=)
    INGOT_COMPARISON(>=)
#undef INGOT_COMPARISON

    friend constexpr vec<bool, N> operator&&(const vec& a, const vec& b) {
        return vec<bool, N>(a) & vec<bool, N>(b);
    }
    friend constexpr vec<bool, N> operator||(const vec& a, const vec& b) {
        return vec<bool, N>(a) | vec<bool, N>(b);
    }
    friend constexpr vec<bool, N> operator!(const vec& a) { return a == vec(T(0)); }
    friend constexpr vec operator+(const vec& a) { return a; }
    friend constexpr vec operator-(const vec& a) {
        if (!__builtin_is_constant_evaluated()) return ingot::from_lanes<T, N>(-a.lanes);
        vec result(a);
        for (int i = 0; i < N; ++i) result.lane(i) = T(-a.lane(i));
        return result;
    }
    friend constexpr vec operator~(const vec& a) { return a ^ vec(T(-1)); }
    constexpr vec& operator++() & { return *this += vec(T(1)); }
    constexpr vec& operator--() & { return *this -= vec(T(1)); }
    constexpr vec operator++(int) & {
        vec before = *this;
        *this += vec(T(1));
        return before;
    }
    constexpr vec operator--(int) & {
        vec before = *this;
        *this -= vec(T(1));
        return before;
    }

  private:
    template <int... K, typename... E>
    constexpr vec(ingot::sequence<int, K...>, const E&... e) : storage(ingot::pick<K, T>(e...)...) {}
};

template <typename T, int N>
struct packed_vec : ingot::packed_storage<T, N> {
    using storage = ingot::packed_storage<T, N>;
    using value_type = T;
    using storage::elements;
    using storage::lane;

    packed_vec() = default;
    packed_vec(const packed_vec&) = default;
    constexpr packed_vec& operator=(const packed_vec&) & = default;
    constexpr packed_vec(const vec<T, N>& v) : packed_vec(ingot::indices<N>{}, v) {}
    constexpr packed_vec(T s) : packed_vec(vec<T, N>(s)) {}
    template <typename U>
    constexpr explicit packed_vec(const vec<U, N>& v) : packed_vec(vec<T, N>(v)) {}
    template <typename U>
    constexpr explicit packed_vec(const packed_vec<U, N>& v) : packed_vec(vec<T, N>(v)) {}
    template <typename A, typename B, typename... Rest>
    constexpr packed_vec(const A& a, const B& b, const Rest&... rest)
        : packed_vec(vec<T, N>(a, b, rest...)) {}

    constexpr operator vec<T, N>() const { return unpacked(ingot::indices<N>{}); }
    constexpr T& operator[](int i) & {
        if (__builtin_is_constant_evaluated()) return lane(i);
        return elements[i];
    }
    constexpr const T& operator[](int i) const& {
        if (__builtin_is_constant_evaluated()) return lane(i);
        return elements[i];
    }
    template <int... I>
    constexpr vec<T, int(sizeof...(I))> swizzle() const {
        return vec<T, int(sizeof...(I))>(this->template get<I>()...);
    }
    template <int... I>
    constexpr ingot::swizzle_reference<T, I...> swizzle_ref() & {
        return {elements};
    }

// Any operand may be packed; results are not.
#define INGOT_OPERATOR(op, result)                                                                         \
    friend constexpr result operator op(const packed_vec& a, const packed_vec& b) {                        \
        return vec<T, N>(a) op vec<T, N>(b);                                                               \
    }                                                                                                      \
    friend constexpr result operator op(const packed_vec& a, const vec<T, N>& b) {                         \
        return vec<T, N>(a) op b;                                                                          \
    }                                                                                                      \
    friend constexpr result operator op(const vec<T, N>& a, const packed_vec& b) {                         \
        return a op vec<T, N>(b);                                                                          \
    }                                                                                                      \
    friend constexpr result operator op(const packed_vec& a, T b) { return vec<T, N>(a) op vec<T, N>(b); } \
    friend constexpr result operator op(T a, const packed_vec& b) { return vec<T, N>(a) op vec<T, N>(b); }
#define INGOT_BINARY(op)                                        \
    INGOT_OPERATOR(op, vec<T COMMA N>)                          \
    constexpr packed_vec& operator op##=(const vec<T, N>& b)& { \
        return *this = packed_vec(vec<T, N>(*this) op b);       \
    }
#define COMMA ,
    INGOT_BINARY(+)
    INGOT_BINARY(-)
    INGOT_BINARY(*)
    INGOT_BINARY(/)
    INGOT_BINARY(%)
    INGOT_BINARY(&)
    INGOT_BINARY(|)
    INGOT_BINARY(^)
    INGOT_BINARY(<<)
    INGOT_BINARY(>>)
    INGOT_OPERATOR(==, vec<bool COMMA N>)
    INGOT_OPERATOR(!=, vec<bool COMMA N>)
    INGOT_OPERATOR(<, vec<bool COMMA N>)
    INGOT_OPERATOR(>, vec<bool COMMA N>)
    INGOT_OPERATOR(<=, vec<bool COMMA N>)
    INGOT_OPERATOR(>=, vec<bool COMMA N>)
#undef INGOT_OPERATOR
#undef INGOT_BINARY
#undef COMMA
    friend constexpr vec<T, N> operator-(const packed_vec& a) { return -vec<T, N>(a); }
    friend constexpr vec<T, N> operator+(const packed_vec& a) { return a; }
    friend constexpr vec<T, N> operator~(const packed_vec& a) { return ~vec<T, N>(a); }
    friend constexpr vec<bool, N> operator!(const packed_vec& a) { return !vec<T, N>(a); }

  private:
    template <int... K>
    constexpr packed_vec(ingot::sequence<int, K...>, const vec<T, N>& v) : storage(v.template get<K>()...) {}
    template <int... K>
    constexpr vec<T, N> unpacked(ingot::sequence<int, K...>) const {
        return vec<T, N>(this->template get<K>()...);
    }
};

// The bits of a value as another type of the same size.
template <typename To, typename From>
constexpr To as_type(const From& value) {
    static_assert(sizeof(To) == sizeof(From), "as_type needs types of the same size");
    return __builtin_bit_cast(To, value);
}

// static_cast, and half to bfloat and back.
template <typename To, typename From>
constexpr To ingot_cast(From&& value) {
    if constexpr (__is_same(typename ingot::other_half<remove_cvref_t<To>>::type, remove_cvref_t<From>)) {
        return remove_cvref_t<To>(float(value));
    } else {
        return static_cast<To>(static_cast<From&&>(value));
    }
}

}  // namespace metal

using metal::as_type;

// Every element type; X(name, arguments...).
#define INGOT_FOR_EACH_ELEMENT_TYPE(X) \
    X(bool)                            \
    X(char)                            \
    X(uchar)                           \
    X(short)                           \
    X(ushort)                          \
    X(int)                             \
    X(uint)                            \
    X(long)                            \
    X(ulong)                           \
    X(half)                            \
    X(bfloat)                          \
    X(float)

#define INGOT_VECTOR_NAMES(type, n)                                    \
    using type##n = metal::vec<type, n>;                               \
    using packed_##type##n = metal::packed_vec<type, n>;               \
    static_assert(sizeof(type##n) == (n == 3 ? 4 : n) * sizeof(type)); \
    static_assert(alignof(type##n) == sizeof(type##n));                \
    static_assert(sizeof(packed_##type##n) == n * sizeof(type));       \
    static_assert(alignof(packed_##type##n) == alignof(type));         \
    namespace metal {                                                  \
    using ::packed_##type##n;                                          \
    using ::type##n;                                                   \
    }
#define INGOT_VECTORS_OF(type)  \
    INGOT_VECTOR_NAMES(type, 2) \
    INGOT_VECTOR_NAMES(type, 3) \
    INGOT_VECTOR_NAMES(type, 4)
INGOT_FOR_EACH_ELEMENT_TYPE(INGOT_VECTORS_OF)
#undef INGOT_VECTORS_OF
#undef INGOT_VECTOR_NAMES
