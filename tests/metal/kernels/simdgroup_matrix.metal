// An 8x8 product of one simdgroup: the identity's double times a matrix, transposed on the way in.
// LAUNCH: kernel=product grid=1 threads=32
// BUFFER 0: f32[64] = i
// BUFFER 1: f32[64]
// EXPECT 1: 0 16 32 48 64 80 96 112 2 18
#include <metal_stdlib>
using namespace metal;

kernel void product(device const float* in, device float* out) {
    simdgroup_float8x8 two(2.0f), m, sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(m, in, 8, ulong2(0), true);
    simdgroup_multiply_accumulate(sum, two, m, sum);
    simdgroup_store(sum, out, 8);
}
