// A type error is reported at its line.
// ERROR 9: no viable conversion from 'float4'
#include <metal_stdlib>
using namespace metal;

kernel void wrong(device float* out) {
    float4 v = 1;
    // The next line is wrong.
    float x = v;
    out[0] = x;
}
