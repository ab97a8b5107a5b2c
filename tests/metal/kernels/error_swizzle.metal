// What isn't seen to be assigned to is a value: storing to it is an error, not lost.
// ERROR 16: swizzle_ref
// ERROR 17: cannot increment
// ERROR 18: no viable overloaded '='
// ERROR 19: cannot assign
// ERROR 20: swizzle_ref
// ERROR 21: no viable overloaded '='
#include <metal_stdlib>
using namespace metal;

float4 make() { return 1; }

kernel void lost(device float* out, device packed_float4& p) {
    float4 v(1, 2, 3, 4);
    v.xy += 1;  // fine, as are the loads below
    v.xyz.yz = float2(8, 9);
    ++v.xy;
    (v.xy) = v.zw;
    v.xy[0] = 5;
    p.xyz.xy *= 2.0f;
    make() = v;
    out[0] = v.xyz.yz.x + v.xy[1];
}
