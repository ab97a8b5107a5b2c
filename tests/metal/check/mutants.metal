// Right kernels, of which mutation_test.cpp makes wrong ones: it deletes each line with a barrier or with "// initialises",
// and makes the condition of each `if (...)` true, one at a time. Each mutant must be found, but for lines that say
// "equivalent: " and why.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// good buffer-bounds: {"kernel": "add", "grid": 4, "threads": 32, "buffers": [400, 400, 400], "u32": {"3": 100}}
kernel void add(device const float* a, device const float* b, device float* c, constant uint& count,
                uint i [[thread_position_in_grid]]) {
    if (i < count) {
        c[i] = a[i] + b[i];
    }
}

// good threadgroup-race: {"kernel": "tree_sum", "grid": 2, "threads": 64, "buffers": [512, 8]}
kernel void tree_sum(device const float* in, device float* out, uint t [[thread_index_in_threadgroup]],
                     uint group [[threadgroup_position_in_grid]]) {
    threadgroup float shared[64];
    shared[t] = in[group * 64 + t] + 1.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_width = 32; half_width > 0; half_width /= 2) {
        if (t < half_width) {
            shared[t] += shared[t + half_width];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) {
        out[group] = shared[0] + float(t);
    }
}

// good threadgroup-race: {"kernel": "transpose", "grid": 1, "threads": 256, "buffers": [1024, 1024]}
kernel void transpose(device const float* in, device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[16][17];
    tile[t / 16][t % 16] = in[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[t] = tile[t % 16][t / 16];
}

// good threadgroup-race: {"kernel": "multiply", "grid": 1, "threads": 64, "buffers": [396, 396, 484], "u32": {"3": 11, "4": 9}}
kernel void multiply(device const float* a, device const float* b, device float* c, constant uint& size,
                     constant uint& depth, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile_a[8][8], tile_b[8][8];
    const uint x = t % 8, y = t / 8;
    for (uint row = 0; row < size; row += 8) {
        for (uint column = 0; column < size; column += 8) {
            float sum = 0;
            for (uint k = 0; k < depth; k += 8) {
                float left = 0, right = 0;
                if (row + y < size && k + x < depth) {
                    left = a[(row + y) * depth + k + x];
                }
                if (k + y < depth && column + x < size) {
                    right = b[(k + y) * size + column + x];
                }
                tile_a[y][x] = left + 1.0f;  // initialises
                tile_b[y][x] = right + float(k);  // initialises
                threadgroup_barrier(mem_flags::mem_threadgroup);
                for (uint j = 0; j < 8; ++j) sum += tile_a[y][j] * tile_b[j][x];
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            if (row + y < size && column + x < size) {
                c[(row + y) * size + column + x] = sum;
            }
        }
    }
}

// good threadgroup-race: {"kernel": "softmax", "grid": 3, "threads": 64, "buffers": [1200, 1200], "u32": {"2": 100}}
kernel void softmax(device const float* in, device float* out, constant uint& count,
                    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint row [[threadgroup_position_in_grid]]) {
    threadgroup float largest[2], sums[2];
    float most = -INFINITY;
    for (uint i = t; i < count; i += 64) most = max(most, in[row * count + i]);
    most = simd_max(most);
    if (lane == 0) {
        largest[simdgroup] = most + float(lane);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    most = max(largest[0], largest[1]);
    float sum = 0;
    for (uint i = t; i < count; i += 64) sum += exp(in[row * count + i] - most);
    sum = simd_sum(sum);
    if (lane == 0) {
        sums[simdgroup] = sum + float(lane);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = sums[0] + sums[1];
    for (uint i = t; i < count; i += 64) out[row * count + i] = exp(in[row * count + i] - most) / sum;
}

// good threadgroup-race: {"kernel": "scan", "grid": 1, "threads": 64, "buffers": [256, 256]}
kernel void scan(device const uint* in, device uint* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint shared[64];
    shared[t] = in[t] + 1;  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint distance = 1; distance < 64; distance *= 2) {
        uint before = 0;
        if (t >= distance) {
            before = shared[t - distance];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        shared[t] += before;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[t] = shared[t];
}

// good threadgroup-race: {"kernel": "histogram", "grid": 2, "threads": 64, "buffers": [400, 64], "u32": {"2": 100}}
kernel void histogram(device const uint* in, device atomic_uint* out, constant uint& count,
                      uint t [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    threadgroup atomic_uint bins[16];
    if (t < 16) {
        atomic_store_explicit(&bins[t], 0, memory_order_relaxed);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // equivalent: atomic operations don't race, and threads run in order here
    if (i < count) {
        atomic_fetch_add_explicit(&bins[(in[i] + i) % 16], 1, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // equivalent: atomic operations don't race
    if (t < 16) {
        atomic_fetch_add_explicit(&out[t], atomic_load_explicit(&bins[t], memory_order_relaxed), memory_order_relaxed);
    }
}

// good threadgroup-race: {"kernel": "stencil", "grid": 3, "threads": 32, "buffers": [320, 320], "u32": {"2": 80}}
kernel void stencil(device const float* in, device float* out, constant uint& count,
                    uint t [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    threadgroup float shared[34];
    float here = 0, left = 0, right = 0;
    if (i < count) {
        here = in[i] + 1.0f;
    }
    if (t == 0 && i > 0) {
        left = in[i - 1];
    }
    if (t == 31 && i + 1 < count) {
        right = in[i + 1];
    }
    shared[t + 1] = here;  // initialises
    if (t == 0) {
        shared[0] = left + float(t);  // initialises
    }
    if (t == 31) {
        shared[33] = right + float(t);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < count) {
        out[i] = shared[t] + shared[t + 1] + shared[t + 2];
    }
}

// good threadgroup-race: {"kernel": "matrices", "grid": 1, "threads": 64, "buffers": [512, 512, 256]}
kernel void matrices(device const float* a, device const float* b, device float* c,
                     uint t [[thread_index_in_threadgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float left[128], right[128], parts[128];
    left[t] = a[t] + 1.0f;  // initialises
    left[t + 64] = a[t + 64] + 1.0f;  // initialises
    right[t] = b[t] + float(t);  // initialises
    right[t + 64] = b[t + 64] + float(t);  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 x, y, z = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_load(x, left + 64 * simdgroup, 8);
    simdgroup_load(y, right + 64 * simdgroup, 8);
    simdgroup_multiply_accumulate(z, x, y, z);
    simdgroup_store(z, parts + 64 * simdgroup, 8);  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    c[t] = parts[t] + parts[t + 64];
}

// good device-race: {"kernel": "two_steps", "grid": 1, "threads": 64, "buffers": [200, 200, 200], "u32": {"3": 50}, "out": [1, 2]}
kernel void two_steps(device const float* in, device float* scratch, device float* out, constant uint& count,
                      uint t [[thread_index_in_threadgroup]]) {
    if (t < count) {
        scratch[t] = in[t] * 2.0f + 1.0f;  // initialises
    }
    threadgroup_barrier(mem_flags::mem_device);
    if (t < count) {
        out[t] = scratch[count - 1 - t] + scratch[t];
    }
}

// good lockstep: {"kernel": "simdgroup_shares", "grid": 2, "threads": 64, "buffers": [512, 512]}
kernel void simdgroup_shares(device const float* in, device float* out, uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]],
                             uint i [[thread_position_in_grid]]) {
    threadgroup float shared[2][32];
    shared[simdgroup][lane] = in[i] + float(lane);  // initialises
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const float other = shared[simdgroup][31 - lane];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    shared[simdgroup][lane] = other * 2.0f;  // initialises; equivalent: it was written before
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[simdgroup][lane ^ 1];
}

// good threadgroup-bounds: {"kernel": "gather_rows", "grid": 2, "threads": 32, "buffers": [256, 640, 1024], "u32": {"3": 10}}
kernel void gather_rows(device const uint* indices, device const float* table, device float* out, constant uint& rows,
                        uint t [[thread_index_in_threadgroup]], uint i [[thread_position_in_grid]]) {
    threadgroup uint chosen[32];
    uint index = indices[i] + i;
    if (index >= rows) {  // equivalent: all read the last row, a wrong result and no fault
        index = rows - 1;
    }
    chosen[t] = index;  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint column = 0; column < 4; ++column) {
        out[i * 4 + column] = table[chosen[31 - t] * 16 + column];
    }
}
