// A function that calls itself last would become a loop: strict mode looks before.
// ERROR 6: 'factorial(int)' calls itself; Metal has no recursion
#include <metal_stdlib>
using namespace metal;

int factorial(int n) {
    return n < 2 ? 1 : n * factorial(n - 1);
}
kernel void compute(device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = factorial(int(i));
}
