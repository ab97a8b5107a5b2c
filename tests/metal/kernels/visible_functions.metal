// Visible functions: called directly, by name of their scope, and through a table, which the host binds as its size and a number
// for each: the functions in the order of the source from 1.
// LAUNCH: kernel=apply grid-threads=8 threads=8
// BUFFER 0: f32[8] = i
// BUFFER 1: u32[8] = 3 0 2 0 4 0 1 0
// BUFFER 2: i32[8] = 0 1 2 0 1 2 0 1
// BUFFER 3: f32[8]
// EXPECT 3: 3 15 11 21 33 38 75 69
#include <metal_stdlib>
using namespace metal;

namespace shapes {
[[visible]] float twice(float x, thread int& calls) {
    ++calls;
    return 2 * x;
}
[[visible]] float square(float x, thread int& calls) {
    ++calls;
    return x * x;
}
}  // namespace shapes

// Another of that name, which no table of this type calls.
[[visible]] int square(int x) { return x * x; }
[[visible]] static inline float plus_ten(float x, thread int& calls) {
    calls += 1;
    return x + 10;
}

using Shape = float(float, thread int&);

kernel void apply(device const float* in [[buffer(0)]], visible_function_table<Shape> table [[buffer(1)]],
                  device const int* which [[buffer(2)]], device float* out [[buffer(3)]],
                  uint i [[thread_position_in_grid]]) {
    int calls = 0;
    const float indirect = table[which[i]](in[i], calls);
    const float direct = shapes::square(in[i], calls);
    out[i] = indirect + direct + calls + (table.size() == 3 ? 1 : 1000) + square(0);
}
