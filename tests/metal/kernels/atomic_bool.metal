// A flag that threads of several groups raise, and literals of every 16-bit kind.
// LAUNCH: kernel=flags grid-threads=256 threads=64
// BUFFER 0: u32[1]
// BUFFER 1: u32[8]
// EXPECT 0: 1
// EXPECT 1: 1 0 1 1 0 3 3 6
#include <metal_stdlib>
using namespace metal;

kernel void flags(device atomic_bool* raised, device uint* seen, uint i [[thread_position_in_grid]],
                  uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_bool local;
    if (t == 0) atomic_store_explicit(&local, false, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i % 64 == 63) atomic_store_explicit(&local, true, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 5 && atomic_load_explicit(&local, memory_order_relaxed)) {
        atomic_store_explicit(raised, true, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i != 0) return;
    seen[0] = atomic_exchange_explicit(&local, false, memory_order_relaxed);
    seen[1] = atomic_load_explicit(&local, memory_order_relaxed);
    bool expected = false;
    while (!atomic_compare_exchange_weak_explicit(&local, &expected, true, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    seen[2] = atomic_load_explicit(&local, memory_order_relaxed);
    seen[3] = !atomic_compare_exchange_weak_explicit(&local, &expected, false, memory_order_relaxed,
                                                     memory_order_relaxed) &&
              expected;
    seen[4] = atomic_load_explicit(raised + 1, memory_order_relaxed);
    seen[5] = uint(1.5H + 1.5h);
    seen[6] = uint(1.5bf + 1.5BF);
    seen[7] = uint(0x1.8p1bf) + uint(3.0H);
}
