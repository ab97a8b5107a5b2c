// A histogram: atomics in threadgroup and in device memory.
// LAUNCH: kernel=histogram grid-threads=256 threads=64
// BUFFER 0: u32[256] = i
// BUFFER 1: u32[4]
// EXPECT 1: 64 64 64 64
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uint* values, device atomic_uint* bins, uint i [[thread_position_in_grid]],
                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint local[4];
    if (t < 4) atomic_store_explicit(&local[t], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&local[values[i] % 4], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 4) {
        atomic_fetch_add_explicit(&bins[t], atomic_load_explicit(&local[t], memory_order_relaxed),
                                  memory_order_relaxed);
    }
}
