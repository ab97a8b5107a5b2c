// Atomics on int, uint, float, bool, and minimum and maximum of ulong. An atomic has its value's layout, so
// that a cast of a plain pointer works. All orders are relaxed; scopes are wider than asked for.
#pragma once

#include "synchronization.h"
#include "type_traits.h"

namespace metal {

template <typename T>
struct atomic {
    T value;
};
template <typename T>
using _atomic = atomic<T>;
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_float = atomic<float>;
using atomic_bool = atomic<bool>;
using atomic_ulong = atomic<ulong>;

namespace ingot::air {

// The space of the pointer is found out later, when addresses have been followed to where they come from.
#define INGOT_UPDATE(name, air_name, T, suffix)           \
    T atomic_##name(volatile T*, T, int order, int scope, \
                    bool is_volatile) __asm__("air.atomic.flat." #air_name "." suffix);
#define INGOT_ATOMIC(name, air_name)             \
    INGOT_UPDATE(name, air_name, int, "s.i32")   \
    INGOT_UPDATE(name, air_name, uint, "u.i32")  \
    INGOT_UPDATE(name, air_name, float, "f32")   \
    INGOT_UPDATE(name, air_name, ulong, "u.i64") \
    INGOT_UPDATE(name, air_name, bool, "u.i8")
INGOT_ATOMIC_BUILTINS(INGOT_ATOMIC)
#undef INGOT_ATOMIC
#define INGOT_ACCESS(T, suffix)                                                                    \
    T atomic_load(const volatile T*, int order, int scope,                                         \
                  bool is_volatile) __asm__("air.atomic.flat.load." suffix);                       \
    void atomic_store(volatile T*, T, int order, int scope,                                        \
                      bool is_volatile) __asm__("air.atomic.flat.store." suffix);                  \
    INGOT_UPDATE(exchange, xchg, T, suffix)                                                        \
    bool atomic_compare_exchange(volatile T*, T* expected, T, int success, int failure, int scope, \
                                 bool is_volatile) __asm__("air.atomic.flat.cmpxchg.weak." suffix);
INGOT_ACCESS(int, "i32")
INGOT_ACCESS(uint, "i32")
INGOT_ACCESS(float, "f32")
INGOT_ACCESS(ulong, "i64")
INGOT_ACCESS(uchar, "i8")
#undef INGOT_ACCESS
#undef INGOT_UPDATE

// A bool is passed as a bit, and kept in a byte.
inline bool atomic_load(const volatile bool* object, int order, int scope, bool is_volatile) {
    return atomic_load((const volatile uchar*)object, order, scope, is_volatile);
}
inline void atomic_store(volatile bool* object, bool value, int order, int scope, bool is_volatile) {
    atomic_store((volatile uchar*)object, uchar(value), order, scope, is_volatile);
}
inline bool atomic_exchange(volatile bool* object, bool value, int order, int scope, bool is_volatile) {
    return atomic_exchange((volatile uchar*)object, uchar(value), order, scope, is_volatile);
}
inline bool atomic_compare_exchange(volatile bool* object, bool* expected, bool value, int success,
                                    int failure, int scope, bool is_volatile) {
    return atomic_compare_exchange((volatile uchar*)object, (uchar*)expected, uchar(value), success, failure,
                                   scope, is_volatile);
}

}  // namespace ingot::air

template <typename T>
inline T atomic_load_explicit(const volatile atomic<T>* object, memory_order order) {
    return ingot::air::atomic_load(&object->value, int(order), thread_scope_device, true);
}
template <typename T>
inline void atomic_store_explicit(volatile atomic<T>* object, type_identity_t<T> value, memory_order order) {
    ingot::air::atomic_store(&object->value, value, int(order), thread_scope_device, true);
}
template <typename T>
inline T atomic_exchange_explicit(volatile atomic<T>* object, type_identity_t<T> value, memory_order order) {
    return ingot::air::atomic_exchange(&object->value, value, int(order), thread_scope_device, true);
}
template <typename T>
inline bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object, T* expected,
                                                  type_identity_t<T> desired, memory_order success,
                                                  memory_order failure) {
    return ingot::air::atomic_compare_exchange(&object->value, expected, desired, int(success), int(failure),
                                               thread_scope_device, true);
}
#define INGOT_ATOMIC(name, air_name)                                                                    \
    template <typename T>                                                                               \
    inline T atomic_##name##_explicit(volatile atomic<T>* object, type_identity_t<T> value,             \
                                      memory_order order) {                                             \
        return ingot::air::atomic_##name(&object->value, value, int(order), thread_scope_device, true); \
    }
INGOT_ATOMIC_BUILTINS(INGOT_ATOMIC)
#undef INGOT_ATOMIC
// Of ulong alone, without a result.
inline void atomic_min_explicit(volatile atomic_ulong* object, ulong value, memory_order order) {
    ingot::air::atomic_fetch_min(&object->value, value, int(order), thread_scope_device, true);
}
inline void atomic_max_explicit(volatile atomic_ulong* object, ulong value, memory_order order) {
    ingot::air::atomic_fetch_max(&object->value, value, int(order), thread_scope_device, true);
}

}  // namespace metal
