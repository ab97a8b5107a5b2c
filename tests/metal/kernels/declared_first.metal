// A kernel that is declared before its definition, and the size of a group in quadgroups: 10 threads make 3 of them, the
// 6 of the last group make 2.
// LAUNCH: kernel=quadgroups grid-threads=16 threads=10
// BUFFER 0: u32[16]
// BUFFER 1: u32[16]
// EXPECT 0: 3 3 3 3 3 3 3 3 3 3 2 2 2 2 2 2
// EXPECT 1: 0*i+3
#include <metal_stdlib>
using namespace metal;

kernel void quadgroups(device uint* quads, device uint* most, uint i, uint count, uint dispatched);

kernel void quadgroups(device uint* quads [[buffer(0)]], device uint* most [[buffer(1)]],
                       uint i [[thread_position_in_grid]], uint count [[quadgroups_per_threadgroup]],
                       uint dispatched [[dispatch_quadgroups_per_threadgroup]]) {
    quads[i] = count;
    most[i] = dispatched;
}
