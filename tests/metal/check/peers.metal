// What a compiler of tiles got wrong in GEMMs and attention, as small as it gets: a kernel for each kind that was seen,
// and the same put right. (Operands that are loaded as if they weren't transposed, and results that are stored under
// another partition than they were computed in, give wrong numbers and break no rule: only a reference finds them.)
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// bad buffer-bounds: {"kernel": "stores_the_edge_unguarded", "grid": 1, "threads": 32, "buffers": [256, 576], "u32": {"2": 12}}
kernel void stores_the_edge_unguarded(device const float* a, device float* c, constant uint& size) {
    simdgroup_float8x8 x;
    simdgroup_load(x, a, 8);
    for (uint row = 0; row < size; row += 8) {
        for (uint column = 0; column < size; column += 8) simdgroup_store(x, c + row * size + column, size);
    }
}

// good buffer-bounds: {"kernel": "stores_the_edge_through_a_tile", "grid": 1, "threads": 32, "buffers": [256, 576], "u32": {"2": 12}}
kernel void stores_the_edge_through_a_tile(device const float* a, device float* c, constant uint& size,
                                           uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[64];
    simdgroup_float8x8 x;
    simdgroup_load(x, a, 8);
    simdgroup_store(x, tile, 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint row = 0; row < size; row += 8) {
        for (uint column = 0; column < size; column += 8) {
            for (uint e = t; e < 64; e += 32) {
                if (row + e / 8 < size && column + e % 8 < size) c[(row + e / 8) * size + column + e % 8] = tile[e];
            }
        }
    }
}

// bad buffer-bounds: {"kernel": "loads_the_edge_unguarded", "grid": 1, "threads": 32, "buffers": [576, 256], "u32": {"2": 12}}
kernel void loads_the_edge_unguarded(device const float* a, device float* c, constant uint& size) {
    simdgroup_float8x8 x;
    simdgroup_load(x, a + 8 * size + 8, size);
    simdgroup_store(x, c, 8);
}

// The product's result goes to the tile that its operand was in.
template <bool Before, bool After>
void result_through_shared(device const float* a, device float* c, threadgroup float* tile, uint t, uint simdgroup) {
    for (uint i = t; i < 128; i += 64) tile[i] = a[i] + float(i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(x, tile, 8);
    simdgroup_load(y, tile + 64, 8);
    simdgroup_multiply_accumulate(z, x, y, z);
    if (Before) threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_store(z, tile + 64 * simdgroup, 8);
    if (After) threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < 128; i += 64) c[i] = tile[127 - i];
}

// bad threadgroup-race: {"kernel": "stores_over_its_operand", "grid": 1, "threads": 64, "buffers": [512, 512]}
kernel void stores_over_its_operand(device const float* a, device float* c, uint t [[thread_index_in_threadgroup]],
                                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[128];
    result_through_shared<false, true>(a, c, tile, t, simdgroup);
}

// bad threadgroup-race: {"kernel": "copies_while_it_is_stored", "grid": 1, "threads": 64, "buffers": [512, 512]}
kernel void copies_while_it_is_stored(device const float* a, device float* c, uint t [[thread_index_in_threadgroup]],
                                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[128];
    result_through_shared<true, false>(a, c, tile, t, simdgroup);
}

// good threadgroup-race: {"kernel": "waits_around_the_store", "grid": 1, "threads": 64, "buffers": [512, 512]}
kernel void waits_around_the_store(device const float* a, device float* c, uint t [[thread_index_in_threadgroup]],
                                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float tile[128];
    result_through_shared<true, true>(a, c, tile, t, simdgroup);
}

// bad barrier-divergence: {"kernel": "softmax_waits_in_one_simdgroup", "grid": 1, "threads": 128, "buffers": [512]}
kernel void softmax_waits_in_one_simdgroup(device float* scores, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float rows[32];
    if (t < 32) {
        float most = scores[t];
        for (uint k = 1; k < 4; ++k) most = max(most, scores[k * 32 + t]);
        rows[t] = most;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        scores[t] -= rows[t];
    }
}

// good barrier-divergence: {"kernel": "softmax_waits_outside", "grid": 1, "threads": 128, "buffers": [512]}
kernel void softmax_waits_outside(device float* scores, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float rows[32];
    if (t < 32) {
        float most = scores[t];
        for (uint k = 1; k < 4; ++k) most = max(most, scores[k * 32 + t]);
        rows[t] = most;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    scores[t] -= rows[t % 32];
}

// bad uninitialised-threadgroup: {"kernel": "reads_a_tile_wider_than_its_copy", "grid": 1, "threads": 32, "buffers": [384, 256]}
kernel void reads_a_tile_wider_than_its_copy(device const float* a, device float* c,
                                             uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[8 * 16];
    for (uint i = t; i < 8 * 12; i += 32) tile[i / 12 * 16 + i % 12] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(x, tile + k, 16);
        simdgroup_load(y, tile + k, 16, 0, true);
        simdgroup_multiply_accumulate(z, x, y, z);
    }
    simdgroup_store(z, c, 8);
}

// good uninitialised-threadgroup: {"kernel": "clears_what_it_does_not_copy", "grid": 1, "threads": 32, "buffers": [384, 256]}
kernel void clears_what_it_does_not_copy(device const float* a, device float* c,
                                         uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[8 * 16];
    for (uint i = t; i < 8 * 16; i += 32) tile[i] = i % 16 < 12 ? a[i / 16 * 12 + i % 16] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_load(x, tile + k, 16);
        simdgroup_load(y, tile + k, 16, 0, true);
        simdgroup_multiply_accumulate(z, x, y, z);
    }
    simdgroup_store(z, c, 8);
}
