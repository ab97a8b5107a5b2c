// Constants whose combination C++ leaves undefined: clang's folding would turn them into anything. (Amounts that aren't
// constant wrap: arithmetic.metal.)
// ERROR 12: shift count >= width of type
// ERROR 16: shift count >= width of type
// ERROR 17: shift count >= width of type
// ERROR 18: shift count >= width of type
// ERROR 19: division by zero is undefined
// ERROR 20: shift count >= width of type
// ERROR 21: shift count is negative
#include <metal_stdlib>
using namespace metal;
constant int kept = 1 << 35;

kernel void undefined(device int* out) {
    const int amount = 40;
    out[0] = 1 << 35;
    out[1] = -1 >> amount;
    out[2] = int(ulong(1) << 65);
    out[3] = 7 / 0;
    const int folded = 1 << 35;
    out[4] = 1 << -1;
    out[5] = folded + kept;
    out[6] = 1 << 31;
}
