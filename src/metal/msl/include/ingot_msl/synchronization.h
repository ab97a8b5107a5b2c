// Barriers, fences, memory orders and scopes.
#pragma once

#include "air.h"

namespace metal {

enum class mem_flags {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8,
    mem_object_data = 16
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
    return mem_flags(int(a) | int(b));
}
constexpr mem_flags operator&(mem_flags a, mem_flags b) {
    return mem_flags(int(a) & int(b));
}

enum memory_order {
    memory_order_relaxed = 0,
    memory_order_acquire = 2,
    memory_order_release = 3,
    memory_order_acq_rel = 4,
    memory_order_seq_cst = 5
};
// (3 is the whole system, whose name sources define for themselves.)
enum thread_scope {
    thread_scope_thread = 0,
    thread_scope_threadgroup = 1,
    thread_scope_device = 2,
    thread_scope_simdgroup = 4
};

namespace ingot::air {
INGOT_CONVERGENT void wg_barrier(int flags, int scope) __asm__("air.wg.barrier");
INGOT_CONVERGENT void simdgroup_barrier(int flags, int scope) __asm__("air.simdgroup.barrier");
void atomic_fence(int flags, int order, int scope) __asm__("air.atomic.fence");
}  // namespace ingot::air

inline void threadgroup_barrier(mem_flags flags) {
    ingot::air::wg_barrier(int(flags), thread_scope_threadgroup);
}
inline void simdgroup_barrier(mem_flags flags) {
    ingot::air::simdgroup_barrier(int(flags), thread_scope_simdgroup);
}
inline void atomic_thread_fence(mem_flags flags, memory_order order,
                                thread_scope scope = thread_scope_device) {
    ingot::air::atomic_fence(int(flags), int(order), int(scope));
}

}  // namespace metal
