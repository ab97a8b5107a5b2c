// Function constants that are vectors: a pair of integers, three floats (which take the place of four), four bools.
// LAUNCH: kernel=sums grid-threads=4 threads=4
// CONSTANT: 0=3,4 offset=0.5,1.5,2.5 7=true,false,true,true
// BUFFER 0: f32[4]
// EXPECT 0: 7 4.5 3 12
#include <metal_stdlib>
using namespace metal;

constant int2 pair [[function_constant(0)]];
constant float3 offset [[function_constant(1)]];
constant bool4 flags [[function_constant(7)]];
constant half2 absent [[function_constant(9)]];

kernel void sums(device float* out [[buffer(0)]]) {
    out[0] = pair.x + pair.y;
    out[1] = offset.x + offset.y + offset.z;
    out[2] = flags.x + flags.y + flags.z + flags.w;
    out[3] = is_function_constant_defined(absent) ? absent.x : float(pair.x * pair.y);
}
