// Infinities and NaNs.
#include <metal_stdlib>
using namespace metal;

// bad non-finite: {"kernel": "divides_by_zero", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void divides_by_zero(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 1.0f / in[i];
}

// good non-finite: {"kernel": "divides_by_more", "grid": 1, "threads": 32, "buffers": [128, 128]}
kernel void divides_by_more(device const float* in, device float* out, uint i [[thread_position_in_grid]]) {
    out[i] = 1.0f / (in[i] + 0.5f);
}

// bad non-finite: {"kernel": "overflows_half", "grid": 1, "threads": 32, "buffers": [128]}
kernel void overflows_half(device half* out, uint i [[thread_position_in_grid]]) {
    out[i] = half(float(i) * 3000.0f);
}
