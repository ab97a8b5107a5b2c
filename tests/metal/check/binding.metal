// What a launch binds.
#include <metal_stdlib>
using namespace metal;

struct Scale {
    float factor, offset;
    uint count, unused;
};

// bad missing-buffer: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 0, 16]}
// bad small-buffer: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 128, 12]}
// bad unused-binding: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 128, 16, 64]}
// bad misaligned-buffer: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 128, 16], "shift": {"2": 2}}
// good missing-buffer: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 128, 16]}
// good small-buffer: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 128, 32]}
// good unused-binding: {"kernel": "scale", "grid": 1, "threads": 16, "buffers": [128, 128, 16]}
// good misaligned-buffer: {"kernel": "scale", "grid": 1, "threads": 32, "buffers": [128, 128, 16], "shift": {"2": 4}}
kernel void scale(device const float* in, device float* out, constant Scale& scale,
                  uint i [[thread_position_in_grid]]) {
    if (i < scale.count) out[i] = in[i] * scale.factor + scale.offset;
}

// bad missing-threadgroup-memory: {"kernel": "turn", "grid": 1, "threads": 32, "buffers": [128]}
// good missing-threadgroup-memory: {"kernel": "turn", "grid": 1, "threads": 32, "buffers": [128], "threadgroup": [128]}
kernel void turn(device float* out, threadgroup float* shared [[threadgroup(0)]],
                 uint t [[thread_index_in_threadgroup]]) {
    shared[t] = out[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[31 - t];
}

// bad wrong-argument: {"kernel": "turn_in_slot_1", "grid": 1, "threads": 32, "buffers": [128, 128]}
// good wrong-argument: {"kernel": "turn_in_slot_1", "grid": 1, "threads": 32, "buffers": [128], "threadgroup": [0, 128]}
kernel void turn_in_slot_1(device float* out [[buffer(0)]], threadgroup float* shared [[threadgroup(1)]],
                           uint t [[thread_index_in_threadgroup]]) {
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[31 - t];
}

// bad wrong-argument: {"kernel": "number_threads", "grid": 1, "threads": 32, "buffers": [], "threadgroup": [128]}
kernel void number_threads(device float* out, uint t [[thread_index_in_threadgroup]]) {
    out[t] = float(t);
}

// One buffer of 256 bytes is bound in both slots.
// bad broken-restrict: {"kernel": "doubles", "grid": 1, "threads": 32, "buffers": [256, 256], "same": true}
// good broken-restrict: {"kernel": "doubles", "grid": 1, "threads": 32, "buffers": [256, 256]}
kernel void doubles(device const float* __restrict in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 2 * in[i];
}

// good broken-restrict: {"kernel": "doubles_in_place", "grid": 1, "threads": 32, "buffers": [256, 256], "same": true}
kernel void doubles_in_place(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 2 * in[i];
}

// Each slot has the buffer from another place on.
// good broken-restrict: {"kernel": "copies_to_the_second_half", "grid": 1, "threads": 32, "buffers": [256, 256], "same": true}
kernel void copies_to_the_second_half(device const float* __restrict in, device float* __restrict out,
                                      uint i [[thread_position_in_grid]]) {
    out[i + 32] = in[i];
}

// bad broken-restrict: {"kernel": "doubles_alone", "grid": 1, "threads": 32, "buffers": [256, 256], "same": true}
kernel void doubles_alone(device const float* in, device float* __restrict__ out,
                          uint i [[thread_position_in_grid]]) {
    out[i] = 2 * in[i];
}

// good broken-restrict: {"kernel": "reads_both", "grid": 1, "threads": 32, "buffers": [256, 256, 256], "same": true}
kernel void reads_both(device const float* __restrict a, device const float* __restrict b,
                       device atomic_uint* count, uint i [[thread_position_in_grid]]) {
    if (a[i] != b[i + 1]) atomic_fetch_add_explicit(count + 40, 1, memory_order_relaxed);
}
