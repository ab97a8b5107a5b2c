// Constants whose combination C++ leaves undefined: clang's folding would turn them into anything. (Amounts that aren't
// constant wrap: arithmetic.metal.)
// ERROR 12: an expression of constants has no value
// ERROR 13: an expression of constants has no value
// ERROR 14: an expression of constants has no value
// ERROR 15: an expression of constants has no value
#include <metal_stdlib>
using namespace metal;

kernel void undefined(device int* out) {
    const int amount = 40;
    out[0] = 1 << 35;
    out[1] = -1 >> amount;
    out[2] = int(ulong(1) << 65);
    out[3] = 7 / 0;
    out[4] = 1 << 31;
}
