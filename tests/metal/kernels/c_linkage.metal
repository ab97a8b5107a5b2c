// Kernels with C linkage, alone and in a block.
// LAUNCH: kernel=alone grid-threads=8 threads=4
// BUFFER 0: f32[8]
// EXPECT 0: 3*i+1
#include <metal_stdlib>
using namespace metal;

extern "C" kernel void alone(device float* out, uint i);

extern "C" {
static float tripled(float x) { return 3 * x; }
[[kernel]] void in_a_block(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = tripled(i); }
}

extern "C" kernel void alone(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = tripled(i) + 1;
}
