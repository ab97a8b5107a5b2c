// Simdgroup functions and matrices that some lanes skip.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// bad divergent-simd-function: {"kernel": "lanes_leave_the_loop", "grid": 1, "threads": 32, "buffers": [160, 128], "u32": {"2": 40}}
kernel void lanes_leave_the_loop(device const float* in, device float* out, constant uint& count,
                                 uint lane [[thread_index_in_simdgroup]]) {
    float largest = -1.0f;
    for (uint i = lane; i < count; i += 32) largest = max(largest, simd_max(in[i]));
    out[lane] = largest;
}

// good divergent-simd-function: {"kernel": "all_lanes_stay", "grid": 1, "threads": 32, "buffers": [160, 128], "u32": {"2": 40}}
kernel void all_lanes_stay(device const float* in, device float* out, constant uint& count,
                           uint lane [[thread_index_in_simdgroup]]) {
    float largest = -1.0f;
    for (uint i = lane; i < count; i += 32) largest = max(largest, in[i]);
    out[lane] = simd_max(largest);
}

// good divergent-simd-function: {"kernel": "one_simdgroup_sums", "grid": 1, "threads": 80, "buffers": [320]}
kernel void one_simdgroup_sums(device float* out, uint t [[thread_index_in_threadgroup]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    out[t] = simdgroup == 2 ? simd_sum(float(t)) : 0.0f;
}

// bad divergent-matrix: {"kernel": "half_a_simdgroup_multiplies", "grid": 1, "threads": 32, "buffers": [256, 256]}
kernel void half_a_simdgroup_multiplies(device const float* in, device float* out,
                                        uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 a, c = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(a, in, 8);
    if (lane < 16) simdgroup_multiply_accumulate(c, a, a, c);
    simdgroup_store(c, out, 8);
}

// good divergent-matrix: {"kernel": "all_of_it_multiplies", "grid": 1, "threads": 64, "buffers": [256, 512]}
kernel void all_of_it_multiplies(device const float* in, device float* out,
                                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    simdgroup_float8x8 a, c = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(a, in, 8);
    if (simdgroup == 1) simdgroup_multiply_accumulate(c, a, a, c);
    simdgroup_store(c, out + 64 * simdgroup, 8);
}

// bad divergent-simdgroup-barrier: {"kernel": "half_a_simdgroup_waits", "grid": 1, "threads": 32, "buffers": [128]}
kernel void half_a_simdgroup_waits(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    if (lane < 16) simdgroup_barrier(mem_flags::mem_device);
    out[lane] = 1.0f;
}

// good divergent-simdgroup-barrier: {"kernel": "all_of_it_waits", "grid": 1, "threads": 32, "buffers": [128]}
kernel void all_of_it_waits(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_barrier(mem_flags::mem_device);
    out[lane] = 1.0f;
}
