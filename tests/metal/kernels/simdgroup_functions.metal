// What lanes tell each other: a sum, an inclusive prefix sum, a rotation by shuffle, a vote.
// LAUNCH: kernel=lanes grid-threads=64 threads=64
// BUFFER 0: i32[64] = i+1
// BUFFER 1: i32[64]
// BUFFER 2: i32[64]
// BUFFER 3: i32[8]
// EXPECT 1: 1 3 6 10 15 21 28 36
// EXPECT 2: 1 1 1 1 1 1 1 1
// EXPECT 3: 528 1552 1 1 0
#include <metal_stdlib>
using namespace metal;

kernel void lanes(device const int* in, device int* prefix, device int* rotated, device int* facts,
                  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    prefix[i] = simd_prefix_inclusive_sum(in[i]);
    rotated[i] = simd_shuffle(in[i], ushort((lane + 1) % 32)) - in[i];
    const int total = simd_sum(in[i]);
    const bool all = simd_all(in[i] > 0), any = simd_any(in[i] == 3), none = simd_any(in[i] > 1000);
    if (lane == 0) facts[simdgroup] = total;
    if (i == 0) {
        facts[2] = all;
        facts[3] = any;
        facts[4] = none;
    }
}
