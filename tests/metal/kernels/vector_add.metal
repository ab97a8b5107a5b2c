// Adds two vectors; the grid is no multiple of the group.
// LAUNCH: kernel=vector_add grid-threads=1000 threads=256
// BUFFER 0: f32[1000] = i
// BUFFER 1: f32[1000] = 0.5*i+1
// BUFFER 2: f32[1000]
// BUFFER 3: u32[1] = 1000
// EXPECT 2: 1.5*i+1
#include <metal_stdlib>
using namespace metal;

kernel void vector_add(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                       device float* sum [[buffer(2)]], constant uint& count [[buffer(3)]],
                       uint i [[thread_position_in_grid]]) {
    if (i < count) sum[i] = a[i] + b[i];
}
