// Metal has no recursion.
// ERROR: calls itself; Metal has no recursion
#include <metal_stdlib>
using namespace metal;

int depth(int n) {
    return n == 0 ? 0 : depth(n - 1) + n % 3;
}
kernel void deep(device int* out) {
    out[0] = depth(out[1]);
}
