// Accesses outside of buffers, threadgroup memory, private arrays and constant data.
#include <metal_stdlib>
using namespace metal;

// bad buffer-bounds: {"kernel": "writes_past_the_end", "grid": 4, "threads": 32, "buffers": [400]}
kernel void writes_past_the_end(device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = float(i);
}

// good buffer-bounds: {"kernel": "guards_its_writes", "grid": 4, "threads": 32, "buffers": [400], "u32": {"1": 100}}
kernel void guards_its_writes(device float* out, constant uint& count, uint i [[thread_position_in_grid]]) {
    if (i < count) out[i] = float(i);
}

// bad buffer-bounds: {"kernel": "reads_before_the_beginning", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void reads_before_the_beginning(device const float* in, device float* out,
                                       uint i [[thread_position_in_grid]]) {
    out[i] = in[int(i) - 1];
}

// good buffer-bounds: {"kernel": "reads_the_first_twice", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void reads_the_first_twice(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = in[max(int(i) - 1, 0)];
}

// bad buffer-bounds: {"kernel": "overruns_into_its_neighbour", "grid": 1, "threads": 8, "together": true, "buffers": [32, 32]}
kernel void overruns_into_its_neighbour(device float* a, device float* b, uint i [[thread_position_in_grid]]) {
    a[i + 8] = b[i];
}

// bad buffer-bounds: {"kernel": "reads_a_vector_too_long", "grid": 1, "threads": 4, "buffers": [56, 64]}
kernel void reads_a_vector_too_long(device const float4* in, device float4* out,
                                    uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
}

// bad buffer-bounds: {"kernel": "reads_a_struct_too_large", "grid": 1, "threads": 1, "buffers": [8, 64]}
struct Sizes {
    uint rows, columns, pitch, unused;
};
kernel void reads_a_struct_too_large(constant Sizes* sizes, device uint* out) {
    out[0] = sizes->rows * sizes->columns + sizes->pitch;
}

// bad threadgroup-bounds: {"kernel": "writes_past_a_variable", "grid": 1, "threads": 64, "buffers": [256]}
kernel void writes_past_a_variable(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float first[32];
    threadgroup float second[64];
    second[t] = 1.0f;
    first[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = first[t / 2] + second[63 - t];
}

// good threadgroup-bounds: {"kernel": "stays_in_its_variables", "grid": 1, "threads": 64, "buffers": [256]}
kernel void stays_in_its_variables(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float first[64];
    threadgroup float second[64];
    second[t] = 1.0f;
    first[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = first[t / 2] + second[63 - t];
}

// bad threadgroup-bounds: {"kernel": "needs_more_than_it_gets", "grid": 1, "threads": 64, "buffers": [256], "threadgroup": [128]}
kernel void needs_more_than_it_gets(device float* out, threadgroup float* shared [[threadgroup(0)]],
                                    uint t [[thread_index_in_threadgroup]]) {
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t ^ 1];
}

// good threadgroup-bounds: {"kernel": "gets_what_it_needs", "grid": 1, "threads": 64, "buffers": [256], "threadgroup": [256]}
kernel void gets_what_it_needs(device float* out, threadgroup float* shared [[threadgroup(0)]],
                               uint t [[thread_index_in_threadgroup]]) {
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[t ^ 1];
}

// bad private-bounds: {"kernel": "overruns_a_private_array", "grid": 1, "threads": 16, "buffers": [64, 64]}
kernel void overruns_a_private_array(device const uint* order, device float* out, uint i [[thread_position_in_grid]]) {
    float values[8];
    for (uint k = 0; k < 8; ++k) values[k] = float(k + order[k]);
    out[i] = values[i + order[0]];
}

// good private-bounds: {"kernel": "wraps_its_private_index", "grid": 1, "threads": 16, "buffers": [64, 64]}
kernel void wraps_its_private_index(device const uint* order, device float* out, uint i [[thread_position_in_grid]]) {
    float values[8];
    for (uint k = 0; k < 8; ++k) values[k] = float(k + order[k]);
    out[i] = values[(i + order[0]) % 8];
}

// bad constant-bounds: {"kernel": "reads_past_a_table", "grid": 1, "threads": 8, "buffers": [32]}
constant float kTable[6] = {1, 2, 3, 5, 8, 13};
kernel void reads_past_a_table(device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = kTable[i];
}

// good constant-bounds: {"kernel": "reads_a_table", "grid": 1, "threads": 8, "buffers": [32]}
kernel void reads_a_table(device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = kTable[min(i, 5u)];
}

// bad unknown-address: {"kernel": "chooses_neither_buffer", "grid": 1, "threads": 16, "buffers": [32, 32, 64]}
kernel void chooses_neither_buffer(device const float* a, device const float* b, device float* out,
                                   uint i [[thread_position_in_grid]]) {
    device const float* from = out[0] > 0 ? a : b;
    out[i] = from[i + 100000];
}

// good unknown-address: {"kernel": "chooses_a_buffer", "grid": 1, "threads": 8, "buffers": [32, 32, 64]}
kernel void chooses_a_buffer(device const float* a, device const float* b, device float* out,
                             uint i [[thread_position_in_grid]]) {
    device const float* from = out[8] > 0 ? a : b;
    out[i] = from[i];
}

// bad misaligned: {"kernel": "reads_words_at_odd_bytes", "grid": 1, "threads": 4, "buffers": [64, 64]}
kernel void reads_words_at_odd_bytes(device const uchar* in, device uint* out, uint i [[thread_position_in_grid]]) {
    out[i] = *(device const uint*)(in + 5 * i);
}

// good misaligned: {"kernel": "puts_words_together", "grid": 1, "threads": 4, "buffers": [64, 64]}
kernel void puts_words_together(device const uchar* in, device uint* out, uint i [[thread_position_in_grid]]) {
    device const uchar* at = in + 5 * i;
    out[i] = uint(at[0]) | uint(at[1]) << 8 | uint(at[2]) << 16 | uint(at[3]) << 24;
}

// bad misaligned: {"kernel": "reads_halves_as_words", "grid": 1, "threads": 4, "buffers": [64, 64]}
kernel void reads_halves_as_words(device const half* in, device uint2* out, uint i [[thread_position_in_grid]]) {
    out[i] = *(device const uint2*)(in + 5 * i);
}

// good misaligned: {"kernel": "copies_four_halves", "grid": 1, "threads": 4, "buffers": [64, 64]}
struct FourHalves {
    half values[4];
};
kernel void copies_four_halves(device const half* in, device half* out, uint i [[thread_position_in_grid]]) {
    *(device FourHalves*)(out + 5 * i) = *(device const FourHalves*)(in + 5 * i);
}

// A place that accesses one offset of a buffer in all threads.
// bad buffer-bounds: {"kernel": "reads_the_third_limit", "grid": 2, "threads": 16, "buffers": [128, 10]}
// good buffer-bounds: {"kernel": "reads_the_third_limit", "grid": 2, "threads": 16, "buffers": [128, 12]}
kernel void reads_the_third_limit(device float* out, device const uint* limits, uint i [[thread_position_in_grid]]) {
    out[i] = float(min(i, limits[2]));
}

// bad buffer-bounds: {"kernel": "writes_before_the_beginning", "grid": 2, "threads": 16, "buffers": [128, 128]}
kernel void writes_before_the_beginning(device float* out, device float* sign, uint i [[thread_position_in_grid]]) {
    out[i] = float(i);
    sign[-1] = 1;
}

// bad misaligned: {"kernel": "reads_a_word_at_byte_6", "grid": 2, "threads": 16, "buffers": [128, 16]}
// good misaligned: {"kernel": "reads_a_word_at_byte_6", "grid": 2, "threads": 16, "buffers": [128, 16], "shift": {"1": 2}}
kernel void reads_a_word_at_byte_6(device uint* out, device const uchar* in, uint i [[thread_position_in_grid]]) {
    out[i] = *(device const uint*)(in + 6);
}
