// Kernels whose counts have closed forms (counter_test.cpp).
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void copy(device const float4* in, device float4* out, uint i [[thread_position_in_grid]]) {
    out[i] = in[i];
}

kernel void copy_with_stride(device const float* in, device float* out, constant uint& stride,
                             uint i [[thread_position_in_grid]]) {
    out[i] = in[i * stride];
}

// Sums 64 values a threadgroup in a tree.
kernel void reduce(device const float* in, device float* out, uint t [[thread_index_in_threadgroup]],
                   uint group [[threadgroup_position_in_grid]], uint i [[thread_position_in_grid]]) {
    threadgroup float shared[64];
    shared[t] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint width = 32; width > 0; width /= 2) {
        if (t < width) shared[t] += shared[t + width];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[group] = shared[0];
}

// One 8x8 tile of the product of row-major matrices a simdgroup.
kernel void gemm(device const float* a, device const float* b, device float* c, constant uint& columns,
                 constant uint& depth, uint2 tile [[threadgroup_position_in_grid]]) {
    simdgroup_float8x8 left, right, sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < depth; k += 8) {
        simdgroup_load(left, a + tile.y * 8 * depth + k, depth);
        simdgroup_load(right, b + k * columns + tile.x * 8, columns);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c + tile.y * 8 * columns + tile.x * 8, columns);
}

// Scores, weights and values of one query a simdgroup; 32 dimensions, one a lane.
kernel void attend(device const float* queries, device const float* keys, device const float* values,
                   device float* out, constant uint& num_keys, uint lane [[thread_index_in_simdgroup]],
                   uint row [[threadgroup_position_in_grid]]) {
    const float query = queries[row * 32 + lane];
    float most = -INFINITY, sum = 0, result = 0;
    for (uint key = 0; key < num_keys; ++key) {
        const float score = simd_sum(query * keys[key * 32 + lane]);
        const float largest = max(most, score), scale = exp(most - largest), weight = exp(score - largest);
        sum = sum * scale + weight;
        result = result * scale + weight * values[key * 32 + lane];
        most = largest;
    }
    out[row * 32 + lane] = result / sum;
}

// A multiplication, an exponential and an addition a round, on vectors of four.
kernel void iterate(device const float4* in, device float4* out, constant uint& rounds,
                    uint i [[thread_position_in_grid]]) {
    float4 x = in[i];
    const float4 more = x;
    for (uint k = 0; k < rounds; ++k) x = exp(x * 0.5f) + more;
    out[i] = x / more;
}

// A place that accesses one offset, and a place that has the offset from elsewhere.
kernel void read_byte_6(device const uchar* in, device float* out, device const uchar* other,
                        uint i [[thread_position_in_grid]]) {
    out[i] = *(device const float*)(in + 6) + *(device const float*)(other + 6);
}

kernel void read_byte_at(device const uchar* in, device float* out, device const uchar* other, constant uint& at,
                         uint i [[thread_position_in_grid]]) {
    out[i] = *(device const float*)(in + at) + *(device const float*)(other + at);
}

// All lanes write the third element, and the first ones the one after.
kernel void write_third(device uint* out, uint i [[thread_position_in_grid]]) {
    out[2] = 1;
    if (i % 32 < 3) out[3] = 2;
}

kernel void write_at(device uint* out, constant uint& at, uint i [[thread_position_in_grid]]) {
    out[at] = 1;
    if (i % 32 < 3) out[at + 1] = 2;
}

// Lanes take a row each, then one row together, then each its own element of it from the last one on.
kernel void read_in_three_ways(device const float* in, device float* out, constant uint& columns,
                               uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint column = 0; column < columns; ++column) {
        sum += in[i * columns + column];
        sum += in[column];
    }
    out[i] = sum + in[31 - i % 32];
}
