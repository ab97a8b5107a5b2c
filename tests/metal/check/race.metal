// Accesses that nothing orders.
#include <metal_stdlib>
using namespace metal;

// bad threadgroup-race: {"kernel": "forgets_the_barrier", "grid": 1, "threads": 64, "buffers": [256]}
kernel void forgets_the_barrier(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    out[t] = shared[63 - t];
}

// good threadgroup-race: {"kernel": "has_the_barrier", "grid": 2, "threads": 64, "buffers": [512]}
kernel void has_the_barrier(device float* out, uint t [[thread_index_in_threadgroup]],
                            uint i [[thread_position_in_grid]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[63 - t];
}

// bad threadgroup-race: {"kernel": "orders_the_other_memory", "grid": 1, "threads": 64, "buffers": [256]}
kernel void orders_the_other_memory(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    shared[t] = float(t);
    threadgroup_barrier(mem_flags::mem_device);
    out[t] = shared[63 - t];
}

// bad threadgroup-race: {"kernel": "reuses_its_tile_too_early", "grid": 1, "threads": 64, "buffers": [1024, 256]}
kernel void reuses_its_tile_too_early(device const float* in, device float* out,
                                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[64];
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
        tile[t] = in[k * 64 + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int j = 0; j < 64; ++j) sum += tile[j];
    }
    out[t] = sum;
}

// good threadgroup-race: {"kernel": "waits_before_reuse", "grid": 1, "threads": 64, "buffers": [1024, 256]}
kernel void waits_before_reuse(device const float* in, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[64];
    float sum = 0;
    for (int k = 0; k < 4; ++k) {
        tile[t] = in[k * 64 + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int j = 0; j < 64; ++j) sum += tile[j];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[t] = sum;
}

// bad threadgroup-race: {"kernel": "all_write_one_place", "grid": 1, "threads": 64, "buffers": [4]}
kernel void all_write_one_place(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float last[1];
    last[0] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) out[0] = last[0];
}

// good threadgroup-race: {"kernel": "all_write_the_same", "grid": 1, "threads": 64, "buffers": [4]}
kernel void all_write_the_same(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float flag[1];
    flag[0] = 1.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) out[0] = flag[0];
}

// good threadgroup-race: {"kernel": "neighbours_write_halves", "grid": 1, "threads": 64, "buffers": [128]}
kernel void neighbours_write_halves(device half* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup half shared[64];
    shared[t] = half(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[63 - t];
}

// good threadgroup-race: {"kernel": "counts_atomically", "grid": 1, "threads": 64, "buffers": [4]}
kernel void counts_atomically(device uint* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint count;
    if (t == 0) atomic_store_explicit(&count, 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&count, t, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) out[0] = atomic_load_explicit(&count, memory_order_relaxed);
}

// bad device-race: {"kernel": "passes_through_device_memory", "grid": 1, "threads": 64, "buffers": [256, 256]}
kernel void passes_through_device_memory(device float* scratch, device float* out,
                                         uint t [[thread_index_in_threadgroup]]) {
    scratch[t] = float(t);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = scratch[63 - t];
}

// good device-race: {"kernel": "orders_device_memory", "grid": 1, "threads": 64, "buffers": [256, 256]}
kernel void orders_device_memory(device float* scratch, device float* out, uint t [[thread_index_in_threadgroup]]) {
    scratch[t] = float(t);
    threadgroup_barrier(mem_flags::mem_device);
    out[t] = scratch[63 - t];
}

// bad group-race: {"kernel": "groups_add_to_one_place", "grid": 4, "threads": 32, "buffers": [512, 4]}
kernel void groups_add_to_one_place(device const float* in, device float* sum, uint t [[thread_index_in_threadgroup]],
                                    uint i [[thread_position_in_grid]]) {
    const float part = simd_sum(in[i] + 1.0f);
    if (t == 0) sum[0] += part;
}

// good group-race: {"kernel": "groups_have_places_of_their_own", "grid": 4, "threads": 32, "buffers": [512, 16]}
kernel void groups_have_places_of_their_own(device const float* in, device float* sums,
                                            uint t [[thread_index_in_threadgroup]],
                                            uint group [[threadgroup_position_in_grid]],
                                            uint i [[thread_position_in_grid]]) {
    const float part = simd_sum(in[i] + 1.0f);
    if (t == 0) sums[group] += part;
}

// good group-race: {"kernel": "groups_add_atomically", "grid": 4, "threads": 32, "buffers": [4]}
kernel void groups_add_atomically(device atomic_uint* sum, uint i [[thread_position_in_grid]]) {
    atomic_fetch_add_explicit(sum, i, memory_order_relaxed);
}

// bad group-race: {"kernel": "groups_overlap_by_one", "grid": 4, "threads": 32, "buffers": [1024]}
kernel void groups_overlap_by_one(device uint* out, uint t [[thread_index_in_threadgroup]],
                                  uint group [[threadgroup_position_in_grid]]) {
    out[group * 31 + t] = group * 100 + t;
}

// bad lockstep: {"kernel": "lane_zero_writes_for_all", "grid": 1, "threads": 32, "buffers": [128]}
kernel void lane_zero_writes_for_all(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[1];
    if (t == 0) shared[0] = 7.0f;
    out[t] = shared[0];
}

// good lockstep: {"kernel": "lanes_wait_for_lane_zero", "grid": 1, "threads": 32, "buffers": [128]}
kernel void lanes_wait_for_lane_zero(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[1];
    if (t == 0) shared[0] = 7.0f;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = shared[0];
}

// bad lockstep: {"kernel": "halves_without_barriers", "grid": 1, "threads": 32, "buffers": [128, 4]}
kernel void halves_without_barriers(device const float* in, device float* out,
                                    uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[32];
    shared[t] = in[t];
    for (uint step = 16; step > 0; step /= 2) {
        if (t < step) shared[t] += shared[t + step] + 1.0f;
    }
    if (t == 0) out[0] = shared[0];
}

// Rows of threadgroup memory by pointers that are kept in an array.
template <bool Waits>
void turn_rows(device const uint* order, device float* out, threadgroup float* shared, uint t) {
    threadgroup float* rows[8];
    for (uint i = 0; i < 8; ++i) rows[(i + order[i]) % 8] = shared + 8 * i;
    shared[t] = float(t);
    if (Waits) threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = rows[7 - (t / 8 + order[0]) % 8][t % 8];
}

// bad threadgroup-race: {"kernel": "turns_rows_too_early", "grid": 1, "threads": 64, "buffers": [256, 256]}
kernel void turns_rows_too_early(device const uint* order, device float* out,
                                 uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    turn_rows<false>(order, out, shared, t);
}

// good threadgroup-race: {"kernel": "turns_rows", "grid": 1, "threads": 64, "buffers": [256, 256]}
kernel void turns_rows(device const uint* order, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float shared[64];
    turn_rows<true>(order, out, shared, t);
}

// Places that access one offset: another one reaches it through another slot.
// bad device-race: {"kernel": "reads_the_first_of_another", "grid": 1, "threads": 64, "buffers": [256, 256], "same": true}
// good device-race: {"kernel": "reads_the_first_of_another", "grid": 1, "threads": 64, "buffers": [256, 256]}
kernel void reads_the_first_of_another(device float* out, device const float* in, uint t [[thread_index_in_threadgroup]]) {
    if (t == 0) {
        out[0] = 1;
    } else if (t >= 32) {
        out[t] = in[0];
    }
}

// Reads of a place that nobody writes, and of one that is written, by one offset each.
// bad group-race: {"kernel": "marks_what_others_read", "grid": 2, "threads": 32, "buffers": [256]}
kernel void marks_what_others_read(device uint* out, uint t [[thread_index_in_threadgroup]],
                                   uint group [[threadgroup_position_in_grid]]) {
    if (group == 0) out[8 + t] = out[3];
    if (group == 1 && t == 5) out[3] = 1;
}
// good group-race: {"kernel": "marks_another_place", "grid": 2, "threads": 32, "buffers": [256]}
kernel void marks_another_place(device uint* out, uint t [[thread_index_in_threadgroup]],
                                uint group [[threadgroup_position_in_grid]]) {
    if (group == 0) out[8 + t] = out[3];
    if (group == 1 && t == 5) out[4] = 1;
}
