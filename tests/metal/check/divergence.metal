// Barriers that not all threads reach.
#include <metal_stdlib>
using namespace metal;

// bad barrier-divergence: {"kernel": "returns_before_the_barrier", "grid": 1, "threads": 64, "buffers": [200], "u32": {"1": 50}}
kernel void returns_before_the_barrier(device float* out, constant uint& count,
                                       uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    if (t >= count) return;
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[count - 1 - t];
}

// good barrier-divergence: {"kernel": "guards_around_the_barrier", "grid": 1, "threads": 64, "buffers": [200], "u32": {"1": 50}}
kernel void guards_around_the_barrier(device float* out, constant uint& count,
                                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    if (t < count) shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < count) out[t] = shared[count - 1 - t];
}

// bad barrier-divergence: {"kernel": "waits_in_a_branch", "grid": 1, "threads": 64, "buffers": [256]}
kernel void waits_in_a_branch(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    if (t < 32) threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t];
}

// good barrier-divergence: {"kernel": "waits_in_a_uniform_branch", "grid": 2, "threads": 64, "buffers": [512]}
kernel void waits_in_a_uniform_branch(device float* out, uint t [[thread_index_in_threadgroup]],
                                      uint group [[threadgroup_position_in_grid]],
                                      uint i [[thread_position_in_grid]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    if (group == 1) threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = group == 1 ? shared[63 - t] : shared[t];
}

// bad different-barriers: {"kernel": "waits_in_both_branches", "grid": 1, "threads": 64, "buffers": [256]}
kernel void waits_in_both_branches(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    if (t < 32) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = shared[t + 32];
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[t] = shared[t - 32] * 2;
    }
}

// good different-barriers: {"kernel": "waits_before_it_branches", "grid": 1, "threads": 64, "buffers": [256]}
kernel void waits_before_it_branches(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 32) {
        out[t] = shared[t + 32];
    } else {
        out[t] = shared[t - 32] * 2;
    }
}
