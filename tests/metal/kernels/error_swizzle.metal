// What isn't seen to be assigned to is a value: storing to it is an error, not lost.
// ERROR 12: swizzle_ref
// ERROR 13: no viable overloaded '='
// ERROR 14: swizzle_ref
#include <metal_stdlib>
using namespace metal;

float4 make() { return 1; }

kernel void lost(device float* out) {
    float4 v(1, 2, 3, 4);
    make().xy = v.zw;
    make() = v;
    ++make().xy;
    out[0] = v.xyz.yz.x + v.xy[1];
}
