// Every thread would have its own, or all one: Metal has no such variables.
// ERROR 8: 'counter' is no constant: program scope and static variables must reside in constant address space
#include <metal_stdlib>
using namespace metal;

int counter = 0;
kernel void count(device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = counter++;
}
