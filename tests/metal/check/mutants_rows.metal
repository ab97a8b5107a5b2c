// More right kernels for mutation_test.cpp, as models use them: see mutants.metal.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// good threadgroup-race: {"kernel": "rms_norm", "grid": 3, "threads": 64, "buffers": [1080, 360, 1080], "u32": {"3": 90}}
kernel void rms_norm(device const float* in, device const float* gain, device float* out, constant uint& count,
                     uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
    threadgroup float parts[2];
    threadgroup float scale;
    float sum = 0;
    for (uint i = t; i < count; i += 64) sum += in[row * count + i] * in[row * count + i];
    sum = simd_sum(sum);
    if (lane == 0) {
        parts[simdgroup] = sum + float(lane);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) {
        scale = rsqrt((parts[0] + parts[1]) / float(count) + 1e-5f) + float(t);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < count; i += 64) out[row * count + i] = in[row * count + i] * gain[i] * scale;
}

// good threadgroup-race: {"kernel": "layer_norm", "grid": 2, "threads": 128, "buffers": [800, 800], "u32": {"2": 100}}
kernel void layer_norm(device const float* in, device float* out, constant uint& count,
                       uint t [[thread_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
    threadgroup float values[128], sums[128];
    float here = 0;
    if (t < count) {
        here = in[row * count + t];
    }
    values[t] = here + float(t);  // initialises
    sums[t] = values[t];  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint width = 64; width > 0; width /= 2) {
        if (t < width) {
            sums[t] += sums[t + width];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    const float mean = sums[0] / float(count);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float apart = 0;
    if (t < count) {  // equivalent: what is beyond the row is added, a wrong result and no fault
        apart = values[t] - mean;
    }
    sums[t] = apart * apart + float(t);  // initialises; equivalent: the sum of before is still there, and read in order
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint width = 64; width > 0; width /= 2) {
        if (t < width) {
            sums[t] += sums[t + width];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t < count) {
        out[row * count + t] = apart * rsqrt(sums[0] / float(count) + 1e-5f);
    }
}

// good threadgroup-race: {"kernel": "attend", "grid": 2, "threads": 64, "buffers": [512, 5120, 5120, 512], "u32": {"4": 20}}
kernel void attend(device const float* queries, device const float* keys, device const float* values,
                   device float* out, constant uint& num_keys, uint t [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                   uint row [[threadgroup_position_in_grid]]) {
    threadgroup float query[64], scores[8], parts[2][8];
    query[t] = queries[row * 64 + t] + float(t);  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float most = -1e30f, sum = 0, result = 0;
    for (uint first = 0; first < num_keys; first += 8) {
        for (uint k = 0; k < 8; ++k) {
            float product = 0;
            if (first + k < num_keys) {
                product = query[63 - t] * keys[(first + k) * 64 + 63 - t];
            }
            product = simd_sum(product);
            if (lane == 0) {
                parts[simdgroup][k] = product + float(lane);  // initialises
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t < 8) {
            scores[t] = parts[0][t] + parts[1][t];  // initialises
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 8; ++k) {
            if (first + k < num_keys) {
                const float largest = max(most, scores[k]);
                sum = sum * exp(most - largest) + exp(scores[k] - largest);
                result = result * exp(most - largest) + exp(scores[k] - largest) * values[(first + k) * 64 + t];
                most = largest;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // equivalent: parts and scores are apart, and the two barriers above order their rounds
    }
    out[row * 64 + t] = result / sum;
}

// good threadgroup-race: {"kernel": "two_buffers", "grid": 1, "threads": 64, "buffers": [1200, 256], "u32": {"2": 300}}
kernel void two_buffers(device const float* in, device float* out, constant uint& count,
                        uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tiles[2][64];
    float sum = 0;
    tiles[0][t] = in[t] + 1.0f;  // initialises
    uint now = 0;
    for (uint first = 0; first < count; first += 64) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (first + 64 + t < count) {
            tiles[1 - now][t] = in[first + 64 + t];
        }
        if (first + 64 + t >= count) {  // equivalent: it writes zeros, a wrong result and no fault
            tiles[1 - now][t] = 0;
        }
        for (uint k = 0; k < 64; ++k) sum += tiles[now][k] * float(k + t);
        now = 1 - now;
    }
    out[t] = sum;
}

// good threadgroup-race: {"kernel": "bitonic_sort", "grid": 1, "threads": 64, "buffers": [400, 400], "u32": {"2": 100}}
kernel void bitonic_sort(device const uint* in, device uint* out, constant uint& count,
                         uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint keys[128];
    for (uint i = t; i < 128; i += 64) {
        uint key = 0xFFFFFFFF;
        if (i < count) {
            key = in[i] * 2654435761u + i;
        }
        keys[i] = key;  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint size = 2; size <= 128; size *= 2) {
        for (uint step = size / 2; step > 0; step /= 2) {
            const uint low = 2 * t - (t & (step - 1)), high = low + step;
            const bool up = (low & size) == 0;
            const uint a = keys[low], b = keys[high];
            if ((a > b) == up) {  // equivalent: it always swaps, a wrong result and no fault
                keys[low] = b;
                keys[high] = a;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }
    for (uint i = t; i < 128; i += 64) {
        if (i < count) {
            out[i] = keys[i];
        }
    }
}

// good threadgroup-race: {"kernel": "argmax", "grid": 2, "threads": 64, "buffers": [560, 8], "u32": {"2": 70}}
kernel void argmax(device const float* in, device uint* out, constant uint& count,
                   uint t [[thread_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
    threadgroup float largest[64];
    threadgroup uint places[64];
    float most = -1e30f;
    uint place = 0;  // equivalent: each thread sees a number
    for (uint i = t; i < count; i += 64) {
        const float x = in[row * count + i] + float(i % 7);
        if (x > most) {  // equivalent: takes the last one, a wrong result and no fault
            most = x;
            place = i;
        }
    }
    largest[t] = most;  // initialises
    places[t] = place;  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint width = 32; width > 0; width /= 2) {
        if (t < width) {
            if (largest[t + width] > largest[t]) {  // equivalent: takes the other one, a wrong result and no fault
                largest[t] = largest[t + width];
                places[t] = places[t + width];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) {
        out[row] = places[0] + t;
    }
}

// good threadgroup-race: {"kernel": "convolve", "grid": 3, "threads": 32, "buffers": [320, 20, 320], "u32": {"3": 80}}
kernel void convolve(device const float* in, device const float* weights, device float* out, constant uint& count,
                     uint t [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                     uint i [[thread_position_in_grid]]) {
    threadgroup float tile[36], taps[5];
    if (t < 5) {
        taps[t] = weights[t] + 1.0f;  // initialises
    }
    for (uint k = t; k < 36; k += 32) {
        const int from = int(group * 32 + k) - 2;
        float x = 0;
        if (from >= 0 && from < int(count)) {
            x = in[from];
        }
        tile[k] = x + float(k);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0;
    for (uint k = 0; k < 5; ++k) sum += tile[t + k] * taps[k];
    if (i < count) {
        out[i] = sum;
    }
}

// good threadgroup-race: {"kernel": "compact", "grid": 1, "threads": 64, "buffers": [200, 256, 4], "u32": {"3": 50}}
kernel void compact(device const uint* in, device uint* out, device uint* total, constant uint& count,
                    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint ends[2];
    uint keeps = 0;
    uint value = 0;  // equivalent: used only where it was set
    if (t < count) {
        value = in[t] + t;
        keeps = (t * 7 % 3) != 0;
    }
    const uint before = simd_prefix_exclusive_sum(keeps);
    if (lane == 31) {
        ends[simdgroup] = before + keeps + lane - 31;  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint at = before;
    if (simdgroup == 1) {
        at += ends[0];
    }
    if (keeps != 0) {
        out[at] = value;
    }
    if (t == 0) {
        total[0] = ends[0] + ends[1] + t;
    }
}

// good threadgroup-race: {"kernel": "dequantise_and_multiply", "grid": 2, "threads": 64, "buffers": [96, 256, 12], "u32": {"3": 3}}
kernel void dequantise_and_multiply(device const uchar* blocks, device const float* x, device float* out,
                                    constant uint& rows, uint t [[thread_index_in_threadgroup]],
                                    uint lane [[thread_index_in_simdgroup]],
                                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                                    uint group [[threadgroup_position_in_grid]]) {
    threadgroup float shared_x[64];
    threadgroup float sums[2];
    shared_x[t] = x[t] + float(t);  // initialises
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint row = group * 2 + simdgroup;
    float sum = 0;
    if (row < rows) {
        for (uint k = lane; k < 64; k += 32) {
            const uint packed = blocks[row * 32 + k / 2];
            sum += (float(packed >> (k % 2 * 4) & 15) - 8.0f) * shared_x[63 - k];
        }
    }
    sum = simd_sum(sum);
    if (lane == 0) {
        sums[simdgroup] = sum + float(lane);  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 2) {
        if (group * 2 + t < rows) {
            out[group * 2 + t] = sums[1 - t];
        }
    }
}

// good threadgroup-race: {"kernel": "transpose_tiles", "grid": 4, "threads": 64, "buffers": [624, 624], "u32": {"2": 12, "3": 13}}
kernel void transpose_tiles(device const float* in, device float* out, constant uint& rows, constant uint& columns,
                            uint t [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]]) {
    threadgroup float tile[8][9];
    const uint row = group / 2 * 8, column = group % 2 * 8, y = t / 8, x = t % 8;
    if (row + y < rows && column + x < columns) {
        tile[y][x] = in[(row + y) * columns + column + x] + 1.0f;  // initialises
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (row + x < rows && column + y < columns) {
        out[(column + y) * rows + row + x] = tile[x][y];
    }
}

// good device-race: {"kernel": "three_passes", "grid": 1, "threads": 64, "buffers": [400, 400, 400, 400], "u32": {"4": 100}, "out": [1, 2, 3]}
kernel void three_passes(device const float* in, device float* first, device float* second, device float* out,
                         constant uint& count, uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < 128; i += 64) {
        if (i < count) {
            first[i] = in[i] + 1.0f;  // initialises
        }
    }
    threadgroup_barrier(mem_flags::mem_device);
    for (uint i = t; i < 128; i += 64) {
        float left = 0, right = 0;
        if (i > 0 && i <= count) {
            left = first[i - 1];
        }
        if (i + 1 < count) {
            right = first[i + 1];
        }
        if (i < count) {
            second[i] = left + right;  // initialises
        }
    }
    threadgroup_barrier(mem_flags::mem_device);
    for (uint i = t; i < 128; i += 64) {
        if (i < count) {
            out[i] = second[count - 1 - i] + second[i];
        }
    }
}

// good threadgroup-race: {"kernel": "tile_of_matrices", "grid": 1, "threads": 64, "buffers": [1024, 1024, 1024]}
kernel void tile_of_matrices(device const float* a, device const float* b, device float* c,
                             uint t [[thread_index_in_threadgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float left[128], right[128];
    simdgroup_float8x8 sums[2];
    for (uint i = 0; i < 2; ++i) sums[i] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < 16; k += 8) {
        for (uint i = t; i < 128; i += 64) {
            left[i] = a[i / 8 * 16 + k + i % 8] + 1.0f;  // initialises
            right[i] = b[(k + i / 16) * 16 + i % 16] + float(i);  // initialises
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_float8x8 x, y;
        simdgroup_load(x, left + simdgroup * 64, 8);
        for (uint i = 0; i < 2; ++i) {
            simdgroup_load(y, right + i * 8, 16);
            simdgroup_multiply_accumulate(sums[i], x, y, sums[i]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 2; ++i) simdgroup_store(sums[i], c + simdgroup * 128 + i * 8, 16);
}

// good threadgroup-race: {"kernel": "top_two", "grid": 2, "threads": 64, "buffers": [512, 16], "u32": {"2": 64}}
kernel void top_two(device const float* in, device float* out, constant uint& count,
                    uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
    threadgroup float largest[2];
    threadgroup float winner;
    float x = -1e30f;  // equivalent: the group is as large as the row
    if (t < count) {  // equivalent: as above
        x = in[row * count + t] + float(t);
    }
    for (uint k = 0; k < 2; ++k) {
        const float most = simd_max(x);
        if (lane == 0) {
            largest[simdgroup] = most + float(lane);  // initialises
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t == 0) {
            winner = max(largest[0], largest[1]) + float(t);  // initialises
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (x == winner) {  // equivalent: all are taken out, a wrong result and no fault
            x = -1e30f;
        }
        if (t == 1) {
            out[row * 2 + k] = winner + float(t);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);  // equivalent: the next round's first barrier comes before the next winner
    }
}
