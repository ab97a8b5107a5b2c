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

// bad shuffle-inactive-lane: {"kernel": "asks_the_other_half", "grid": 1, "threads": 32, "buffers": [128]}
kernel void asks_the_other_half(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    float x = float(lane);
    if (lane < 16) x = simd_shuffle(x, ushort(lane + 16));
    out[lane] = x;
}

// bad shuffle-inactive-lane: {"kernel": "asks_past_its_group", "grid": 1, "threads": 48, "buffers": [192]}
kernel void asks_past_its_group(device float* out, uint t [[thread_index_in_threadgroup]]) {
    out[t] = simd_shuffle_down(float(t), 8);
}

// good shuffle-inactive-lane: {"kernel": "asks_its_own_half", "grid": 1, "threads": 64, "buffers": [256]}
kernel void asks_its_own_half(device float* out, uint t [[thread_index_in_threadgroup]],
                              uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    float x = simd_shuffle_down(float(t), 8);
    if (simdgroup == 1) x = simd_shuffle_xor(x, 16);
    out[t] = x + simd_broadcast(x, 3);
}

// bad shuffle-out-of-range: {"kernel": "asks_lane_33", "grid": 1, "threads": 32, "buffers": [128]}
kernel void asks_lane_33(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    out[lane] = simd_shuffle(float(lane), ushort(lane + 2));
}

// bad shuffle-out-of-range: {"kernel": "asks_the_fifth_of_four", "grid": 1, "threads": 32, "buffers": [128]}
kernel void asks_the_fifth_of_four(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    out[lane] = quad_shuffle_xor(float(lane), 4);
}

// good shuffle-out-of-range: {"kernel": "goes_around", "grid": 1, "threads": 32, "buffers": [128]}
kernel void goes_around(device float* out, uint lane [[thread_index_in_simdgroup]]) {
    out[lane] = simd_shuffle(float(lane), ushort((lane + 2) % 32)) + quad_shuffle_xor(float(lane), 3) +
                simd_shuffle_rotate_down(float(lane), 2);
}
