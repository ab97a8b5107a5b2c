// Metal has no recursion.
// ERROR: calls itself; Metal has no recursion
#include <metal_stdlib>
using namespace metal;

int depth(int n) {
    return n < 2 ? n : depth(n - 1) ^ depth(n - 2) * 3;
}
kernel void deep(device int* out) {
    out[0] = depth(out[1]);
}
