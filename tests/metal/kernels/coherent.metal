// Coherent memory in its spellings, as fences between threads use it, and an index argument by its older name.
// LAUNCH: kernel=hand_on grid-threads=64 threads=32
// BUFFER 0: u32[1]
// BUFFER 1: i32[64] = i
// BUFFER 2: u32[2]
// EXPECT 0: 64
// EXPECT 1: 2*i+0
// EXPECT 2: 32 1
#include <metal_stdlib>
using namespace metal;

static void add(coherent device int* to, int value) { *to += value; }

kernel void hand_on(volatile coherent(system) device atomic_uint* count [[buffer(0)]],
                    device coherent(device) int* values [[buffer(1)]], device uint* widths [[buffer(2)]],
                    uint i [[thread_position_in_grid]], ushort width [[thread_execution_width]]) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    add(values + i, int(i));
    const int coherent = 1;
    widths[0] = width;
    widths[1] = coherent;
}
