// Reads of what nobody wrote.
#include <metal_stdlib>
using namespace metal;

// bad uninitialised-threadgroup: {"kernel": "half_of_it_is_written", "grid": 1, "threads": 64, "buffers": [256]}
kernel void half_of_it_is_written(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    if (t < 32) shared[t] = 1.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t];
}

// good uninitialised-threadgroup: {"kernel": "all_of_it_is_written", "grid": 2, "threads": 64, "buffers": [512]}
kernel void all_of_it_is_written(device float* out, uint t [[thread_index_in_threadgroup]],
                                 uint i [[thread_position_in_grid]]) {
    threadgroup float shared[64];
    shared[t] = t < 32 ? 1.0f : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[63 - t];
}

// bad uninitialised-threadgroup: {"kernel": "counts_on_the_group_before", "grid": 2, "threads": 32, "buffers": [256]}
kernel void counts_on_the_group_before(device float* out, uint t [[thread_index_in_threadgroup]],
                                       uint group [[threadgroup_position_in_grid]],
                                       uint i [[thread_position_in_grid]]) {
    threadgroup float shared[32];
    if (group == 0) shared[t] = 1.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[31 - t];
}

// bad uninitialised-threadgroup: {"kernel": "adds_to_what_is_not_there", "grid": 1, "threads": 32, "buffers": [4]}
kernel void adds_to_what_is_not_there(device uint* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint count;
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) out[0] = atomic_load_explicit(&count, memory_order_relaxed);
}

// bad uninitialised-buffer: {"kernel": "adds_to_its_output", "grid": 1, "threads": 32, "buffers": [128, 128], "out": [1]}
kernel void adds_to_its_output(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] += in[i];
}

// good uninitialised-buffer: {"kernel": "writes_before_it_adds", "grid": 1, "threads": 32, "buffers": [128, 128], "out": [1]}
kernel void writes_before_it_adds(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
    for (int k = 0; k < 3; ++k) {
        threadgroup_barrier(mem_flags::mem_device);
        out[i] += in[(i + k) % 32];
    }
}

// bad uninitialised-local: {"kernel": "forgets_a_branch", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void forgets_a_branch(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    float x;
    if (in[i] > 0) x = in[i];
    out[i] = x;
}

// good uninitialised-local: {"kernel": "sets_both_branches", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void sets_both_branches(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    float x;
    if (in[i] > 0) {
        x = in[i];
    } else {
        x = 1.0f;
    }
    out[i] = x;
}

// bad uninitialised-local: {"kernel": "sums_from_nowhere", "grid": 1, "threads": 32, "buffers": [128, 128], "u32": {"2": 4}}
kernel void sums_from_nowhere(device const float* in, device float* out, constant uint& count,
                              uint i [[thread_position_in_grid]]) {
    float sum;
    for (uint k = 0; k < count; ++k) sum += in[(i + k) % 32];
    out[i] = sum;
}

// bad uninitialised-local: {"kernel": "forgets_a_component", "grid": 1, "threads": 8, "buffers": [128, 128]}
kernel void forgets_a_component(device const float* in, device float4* out, uint i [[thread_position_in_grid]]) {
    float4 v;
    v.x = in[i];
    v.y = in[i + 8];
    v.z = in[i + 16];
    out[i] = v;
}

// good uninitialised-local: {"kernel": "sets_three_of_three", "grid": 1, "threads": 8, "buffers": [128, 128]}
kernel void sets_three_of_three(device const float* in, device float3* out, uint i [[thread_position_in_grid]]) {
    float3 v;
    v.x = in[i];
    v.y = in[i + 8];
    v.z = in[i + 16];
    out[i] = v;
}

// bad uninitialised-local: {"kernel": "branches_on_nothing", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void branches_on_nothing(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    bool found;
    if (in[i] > 0) found = true;
    if (found) out[i] = 1.0f;
}

// bad uninitialised-local: {"kernel": "goes_nowhere", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void goes_nowhere(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    uint at;
    if (in[i] > 0) at = i;
    out[at % 32] = 1.0f;
}

// good uninitialised-local: {"kernel": "uses_what_it_found", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void uses_what_it_found(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    bool found = false;
    float x, sums[4];
    for (uint k = 0; k < 4; ++k) sums[k] = in[(i + k) % 32];
    if (in[i] > 0) {
        x = in[i];
        found = true;
    }
    if (found && x > 2.0f) sums[0] = x;
    out[i] = (found ? x : 0.0f) + sums[0] + sums[3];
}

// bad uninitialised-threadgroup: {"kernel": "copies_vectors_that_are_not_there", "grid": 1, "threads": 64, "buffers": [1024]}
kernel void copies_vectors_that_are_not_there(device float4* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float4 shared[64];
    if (t < 32) shared[t] = 1.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t];
}

// bad uninitialised-buffer: {"kernel": "copies_vectors_of_its_output", "grid": 1, "threads": 16, "buffers": [512], "out": [0]}
kernel void copies_vectors_of_its_output(device float4* out, uint i [[thread_position_in_grid]]) {
    out[i] = out[i + 16];
}

struct Padded {
    float a;
    alignas(16) float b;
};

// good uninitialised-threadgroup: {"kernel": "copies_a_struct_with_padding", "grid": 1, "threads": 32, "buffers": [1024]}
kernel void copies_a_struct_with_padding(device Padded* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup Padded shared[32];
    shared[t].a = 1.0f;
    shared[t].b = 2.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[31 - t];
}

// bad uninitialised-local: {"kernel": "leaves_a_hole_in_an_array", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void leaves_a_hole_in_an_array(device const uint* order, device float* out,
                                      uint i [[thread_position_in_grid]]) {
    float values[8];
    for (uint k = 0; k < 7; ++k) values[(k + order[k]) % 8] = float(k);
    out[i] = values[(i + order[i]) % 8];
}

// good uninitialised-local: {"kernel": "fills_an_array", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void fills_an_array(device const uint* order, device float* out, uint i [[thread_position_in_grid]]) {
    float values[8];
    for (uint k = 0; k < 8; ++k) values[(k + order[k]) % 8] = float(k);
    out[i] = values[(i + order[i]) % 8];
}

// A place that reads one offset in all threads.
// bad uninitialised-buffer: {"kernel": "doubles_its_first", "grid": 2, "threads": 32, "buffers": [256, 8], "out": [1]}
// good uninitialised-buffer: {"kernel": "doubles_its_first", "grid": 2, "threads": 32, "buffers": [256, 8]}
kernel void doubles_its_first(device float* out, device const float* scale, uint i [[thread_position_in_grid]]) {
    out[i] = 2 * scale[0];
}

// Memory that all of a group wrote, which the next group must write again.
// bad uninitialised-threadgroup: {"kernel": "first_group_writes_all", "grid": 2, "threads": 32, "buffers": [256]}
kernel void first_group_writes_all(device float* out, uint t [[thread_index_in_threadgroup]],
                                   uint group [[threadgroup_position_in_grid]],
                                   uint i [[thread_position_in_grid]]) {
    threadgroup float shared[32];
    if (group == 0 || t != 7) shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[31 - t];
}
// good uninitialised-threadgroup: {"kernel": "each_group_writes_all", "grid": 2, "threads": 32, "buffers": [256]}
kernel void each_group_writes_all(device float* out, uint t [[thread_index_in_threadgroup]],
                                  uint i [[thread_position_in_grid]]) {
    threadgroup uchar shared[32];
    threadgroup float others[32];
    if (t < 8) ((threadgroup uint*)shared)[t] = t;
    others[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = float(shared[31 - t]) + others[31 - t];
}
