// Function constants by index and name, one derived from others, one that guards a buffer nobody binds, and one that
// has no value.
// LAUNCH: kernel=scale grid-threads=8 threads=8
// CONSTANT: 1=true 3=4 shift=10 7=false
// BUFFER 0: i32[8] = i
// BUFFER 1: i32[8]
// EXPECT 1: 4*i+110
#include <metal_stdlib>
using namespace metal;

constant int BASE = 3;
constant bool negate [[function_constant(0)]];
constant bool enlarge [[function_constant(1)]];
constant int factor [[function_constant(BASE)]];
constant int shift [[function_constant(BASE + 1)]];
constant bool has_bias [[function_constant(7)]];
constant bool plain = !enlarge;
constant int increment = is_function_constant_defined(negate) ? 1000 : 100;

kernel void scale(device const int* in [[buffer(0)]], device int* out [[buffer(1)]],
                  device const int* bias [[buffer(2), function_constant(has_bias)]],
                  uint i [[thread_position_in_grid]]) {
    int value = plain ? in[i] : in[i] * factor;
    if (has_bias) value += bias[i];
    out[i] = value + shift + increment;
}
