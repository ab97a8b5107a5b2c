// Indices that need more than 32 bits. 0x10000001 is 268435457.
#include <metal_stdlib>
using namespace metal;

// bad index-overflow: {"kernel": "multiplies_unsigned", "grid": 1, "threads": 32, "buffers": [128], "u32": {"1": 268435457}}
kernel void multiplies_unsigned(device float* out, constant uint& stride, uint i [[thread_position_in_grid]]) {
    out[i * stride >> 27] = 1.0f;
}

// bad index-overflow: {"kernel": "multiplies_signed", "grid": 1, "threads": 32, "buffers": [128], "u32": {"1": 268435457}}
kernel void multiplies_signed(device float* out, constant int& stride, uint i [[thread_position_in_grid]]) {
    const int at = int(i) * stride;
    out[(at >> 27) & 31] = 1.0f;
}

// bad index-overflow: {"kernel": "adds_too_much", "grid": 1, "threads": 32, "buffers": [128], "u32": {"1": 4294967280}}
kernel void adds_too_much(device float* out, constant uint& offset, uint i [[thread_position_in_grid]]) {
    out[(offset + i) % 32] = 1.0f;
}

// bad index-overflow: {"kernel": "looks_one_back", "grid": 1, "threads": 32, "buffers": [128]}
kernel void looks_one_back(device float* out, uint i [[thread_position_in_grid]]) {
    out[min(i - 1, 31u)] = 1.0f;
}

// good index-overflow: {"kernel": "takes_64_bits", "grid": 1, "threads": 32, "buffers": [128], "u32": {"1": 268435457}}
kernel void takes_64_bits(device float* out, constant uint& stride, uint i [[thread_position_in_grid]]) {
    out[(ulong(i) * stride >> 27) % 32] = 1.0f;
}

// good index-overflow: {"kernel": "stays_small", "grid": 1, "threads": 32, "buffers": [128], "u32": {"1": 3}}
kernel void stays_small(device float* out, constant uint& stride, uint i [[thread_position_in_grid]]) {
    out[(i * stride + 5) % 32] = float(i * 0x10000001u);
}
