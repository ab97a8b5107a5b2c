// What the generated entry of a kernel is made of: argument binding by the kernel's own parameter types, and
// the tables that describe arguments and function constants to the AIR form (to_air.cpp reads these structs
// by position). Evaluated by the compiler, so that sizes, slots and type names are what the source means.
#pragma once

namespace metal {
template <typename T, int N>
struct vec;
}

namespace ingot_msl {

using Index3 = unsigned __attribute__((ext_vector_type(3)));

template <unsigned I, typename Function>
struct parameter_of;
template <unsigned I, typename R, typename... P>
struct parameter_of<I, R (*)(P...)> {
    using type = __type_pack_element<I, P...>;
};
template <unsigned I, typename Function>
using parameter = typename parameter_of<I, __remove_cv(Function)>::type;

// Strict mode: `pointer`, which is called `name`, must point into this address space.
void expect_space(const volatile void* pointer, unsigned space,
                  const char* name) __asm__("ingot.expect_space");

struct Argument {
    const char* kind;
    const char* name;
    const char* type;   // holds the type's name between "T = " and the last "]"
    const void* guard;  // the function constant that decides whether it is bound
    unsigned space, slot, size, align, reference, writable, restricted;
};

struct Constant {
    const void* value;
    const bool* defined;
    const char* name;
    const char* type;
    unsigned index;
};

template <typename T>
constexpr const char* type_name() {
    return __PRETTY_FUNCTION__;
}

template <typename T>
struct size_of {
    static constexpr unsigned size = sizeof(T), align = alignof(T);
};
template <>
struct size_of<void> {
    static constexpr unsigned size = 0, align = 1;
};

template <typename T>
inline constexpr bool is_const = false;
template <typename T>
inline constexpr bool is_const<const T> = true;

template <typename P>
constexpr Argument describe(const char* kind, unsigned space, unsigned slot, const char* name,
                            const void* guard, bool restricted) {
    using Target = __remove_pointer(__remove_reference_t(P));
    using Plain = __remove_cv(Target);
    constexpr bool is_reference = __is_reference(P), is_pointer = __is_pointer(P);
    return {kind,
            name,
            type_name<Plain>(),
            guard,
            space,
            slot,
            size_of<Plain>::size,
            size_of<Plain>::align,
            is_reference ? size_of<Plain>::size : 0,
            (is_reference || is_pointer) && !is_const<Target>,
            restricted};
}

template <typename T>
constexpr Constant describe_constant(const T& value, const bool& defined, unsigned index, const char* name) {
    return {&value, &defined, name, type_name<T>(), index};
}

// A pointer, a reference to one object, a tensor that a record describes, or the object itself.
template <typename P>
__attribute__((always_inline)) inline P bind_memory(void* memory) {
    if constexpr (__is_pointer(P)) {
        return (P)memory;
    } else if constexpr (requires { P::from_argument(memory); }) {
        return P::from_argument(memory);
    } else {
        return *(__remove_reference_t(P)*)memory;
    }
}

template <typename P>
struct index_of {
    static P make(Index3 value) { return P(value.x); }
};
template <typename T>
struct index_of<metal::vec<T, 2>> {
    static metal::vec<T, 2> make(Index3 value) { return {T(value.x), T(value.y)}; }
};
template <typename T>
struct index_of<metal::vec<T, 3>> {
    static metal::vec<T, 3> make(Index3 value) { return {T(value.x), T(value.y), T(value.z)}; }
};

template <typename P>
__attribute__((always_inline)) inline __remove_cvref(P) bind_index(Index3 value) {
    return index_of<__remove_cvref(P)>::make(value);
}
template <typename P>
__attribute__((always_inline)) inline __remove_cvref(P) bind_index(unsigned value) {
    return index_of<__remove_cvref(P)>::make(Index3(value));
}

}  // namespace ingot_msl
