// <metal_type_traits> and what of <metal_utility> kernels use, over the compiler's built-in traits, which
// count half and bfloat as floating-point types.
#pragma once

#include "types.h"

namespace metal {

template <typename T, T Value>
struct integral_constant {
    static constexpr T value = Value;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const { return Value; }
    constexpr T operator()() const { return Value; }
};
template <bool Value>
using bool_constant = integral_constant<bool, Value>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool Condition, typename T = void>
struct enable_if {};
template <typename T>
struct enable_if<true, T> {
    using type = T;
};
template <bool Condition, typename T = void>
using enable_if_t = typename enable_if<Condition, T>::type;

template <bool Condition, typename T, typename F>
struct conditional {
    using type = T;
};
template <typename T, typename F>
struct conditional<false, T, F> {
    using type = F;
};
template <bool Condition, typename T, typename F>
using conditional_t = typename conditional<Condition, T, F>::type;

template <typename T>
struct type_identity {
    using type = T;
};
template <typename T>
using type_identity_t = typename type_identity<T>::type;

// A transformation of one type that the compiler has built in.
#define INGOT_TRANSFORMATION(name) \
    template <typename T>          \
    struct name {                  \
        using type = __##name(T);  \
    };                             \
    template <typename T>          \
    using name##_t = __##name(T);
INGOT_TRANSFORMATION(add_lvalue_reference)
INGOT_TRANSFORMATION(add_pointer)
INGOT_TRANSFORMATION(add_rvalue_reference)
INGOT_TRANSFORMATION(decay)
INGOT_TRANSFORMATION(make_signed)
INGOT_TRANSFORMATION(make_unsigned)
INGOT_TRANSFORMATION(remove_all_extents)
INGOT_TRANSFORMATION(remove_const)
INGOT_TRANSFORMATION(remove_cv)
INGOT_TRANSFORMATION(remove_cvref)
INGOT_TRANSFORMATION(remove_extent)
INGOT_TRANSFORMATION(remove_pointer)
INGOT_TRANSFORMATION(remove_volatile)
INGOT_TRANSFORMATION(underlying_type)
#undef INGOT_TRANSFORMATION

// __remove_reference is a template of its own in other standard libraries, so clang spells it with _t.
template <typename T>
using remove_reference_t = __remove_reference_t(T);
template <typename T>
struct remove_reference {
    using type = remove_reference_t<T>;
};
template <typename T>
using add_const_t = const T;
template <typename T>
struct add_const {
    using type = const T;
};
template <typename T>
using add_volatile_t = volatile T;
template <typename T>
using add_cv_t = const volatile T;

// Address spaces are gone already.
template <typename T>
struct remove_addrspace {
    using type = T;
};
template <typename T>
using remove_addrspace_t = T;

// A question about one type that the compiler answers.
#define INGOT_QUESTION(name)                     \
    template <typename T>                        \
    struct name : bool_constant<__##name(T)> {}; \
    template <typename T>                        \
    inline constexpr bool name##_v = __##name(T);
INGOT_QUESTION(is_abstract)
INGOT_QUESTION(is_arithmetic)
INGOT_QUESTION(is_array)
INGOT_QUESTION(is_class)
INGOT_QUESTION(is_compound)
INGOT_QUESTION(is_const)
INGOT_QUESTION(is_enum)
INGOT_QUESTION(is_final)
INGOT_QUESTION(is_floating_point)
INGOT_QUESTION(is_function)
INGOT_QUESTION(is_fundamental)
INGOT_QUESTION(is_integral)
INGOT_QUESTION(is_lvalue_reference)
INGOT_QUESTION(is_object)
INGOT_QUESTION(is_pod)
INGOT_QUESTION(is_pointer)
INGOT_QUESTION(is_reference)
INGOT_QUESTION(is_rvalue_reference)
INGOT_QUESTION(is_scalar)
INGOT_QUESTION(is_signed)
INGOT_QUESTION(is_standard_layout)
INGOT_QUESTION(is_trivial)
INGOT_QUESTION(is_trivially_copyable)
INGOT_QUESTION(is_union)
INGOT_QUESTION(is_unsigned)
INGOT_QUESTION(is_void)
INGOT_QUESTION(is_volatile)
#undef INGOT_QUESTION

#define INGOT_QUESTION(name)                        \
    template <typename T, typename U>               \
    struct name : bool_constant<__##name(T, U)> {}; \
    template <typename T, typename U>               \
    inline constexpr bool name##_v = __##name(T, U);
INGOT_QUESTION(is_assignable)
INGOT_QUESTION(is_base_of)
INGOT_QUESTION(is_convertible)
INGOT_QUESTION(is_same)
#undef INGOT_QUESTION

template <typename T, typename... Arguments>
inline constexpr bool is_constructible_v = __is_constructible(T, Arguments...);
template <typename T, typename... Arguments>
struct is_constructible : bool_constant<__is_constructible(T, Arguments...)> {};
template <typename T>
inline constexpr bool is_default_constructible_v = __is_constructible(T);
template <typename T>
struct is_default_constructible : bool_constant<__is_constructible(T)> {};
template <typename T>
struct is_copy_constructible : bool_constant<__is_constructible(T, const T&)> {};
template <typename T>
inline constexpr bool is_copy_constructible_v = is_copy_constructible<T>::value;
template <typename T>
struct is_trivially_default_constructible : bool_constant<__is_trivially_constructible(T)> {};
template <typename T>
inline constexpr bool is_trivially_default_constructible_v = __is_trivially_constructible(T);

template <typename T>
struct rank : integral_constant<size_t, __array_rank(T)> {};
template <typename T, unsigned Dimension = 0>
struct extent : integral_constant<size_t, __array_extent(T, Dimension)> {};

template <typename... Conditions>
struct conjunction : bool_constant<(bool(Conditions::value) && ...)> {};
template <typename... Conditions>
struct disjunction : bool_constant<(bool(Conditions::value) || ...)> {};
template <typename Condition>
struct negation : bool_constant<!bool(Condition::value)> {};
template <typename... Conditions>
inline constexpr bool conjunction_v = (bool(Conditions::value) && ...);
template <typename... Conditions>
inline constexpr bool disjunction_v = (bool(Conditions::value) || ...);
template <typename Condition>
inline constexpr bool negation_v = !bool(Condition::value);
// Names of Apple's headers that MLX uses.
template <typename... Conditions>
using _conjunction = conjunction<Conditions...>;
template <typename... Conditions>
using _disjunction = disjunction<Conditions...>;
template <typename Condition>
using _not_ = negation<Condition>;

template <typename T>
add_rvalue_reference_t<T> declval();
template <typename>
struct result_of;
template <typename Function, typename... Arguments>
struct result_of<Function(Arguments...)> {
    using type = decltype(declval<Function>()(declval<Arguments>()...));
};
template <typename Call>
using result_of_t = typename result_of<Call>::type;
template <typename Function, typename... Arguments>
using invoke_result_t = decltype(declval<Function>()(declval<Arguments>()...));

namespace ingot {

template <typename A, typename B>
struct common {
    using type = remove_cvref_t<decltype(false ? declval<A>() : declval<B>())>;
};
// The compiler knows no common type of these.
template <>
struct common<half, bfloat> {
    using type = float;
};
template <>
struct common<bfloat, half> {
    using type = float;
};

}  // namespace ingot

template <typename T, typename... Rest>
struct common_type : common_type<T, typename common_type<Rest...>::type> {};
template <typename T>
struct common_type<T> {
    using type = decay_t<T>;
};
template <typename A, typename B>
struct common_type<A, B> : ingot::common<decay_t<A>, decay_t<B>> {};
template <typename... T>
using common_type_t = typename common_type<T...>::type;

}  // namespace metal
