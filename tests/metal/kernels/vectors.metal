// Vectors: constructors from parts, swizzles read and written, packed memory, comparison and select.
// LAUNCH: kernel=vectors grid-threads=4 threads=4
// BUFFER 0: f32[12] = i
// BUFFER 1: f32[16]
// BUFFER 2: i32[4]
// EXPECT 1: 2 1 0 7 5 4 3 7 8 7 6 7 11 10 9 7
// EXPECT 2: 0 0 2 3
#include <metal_stdlib>
using namespace metal;

struct Named {
    float2 rg;  // a member that is named like a swizzle
};

kernel void vectors(device const packed_float3* in, device float4* out, device int* counts,
                    uint i [[thread_position_in_grid]]) {
    const float3 v = in[i];
    Named named;
    named.rg = float2(v.y, v.x);
    float4 result = float4(v.z, named.rg, 1);
    result.w = dot(float3(1, 2, 3), float3(1, 0, 2));
    result.xyz = select(result.xyz, float3(0), isnan(v));
    out[i] = result;
    const int3 above = select(int3(0), int3(1), v > float3(6.5f));
    counts[i] = above.x + above.y + above.z;
}
