// 8x8 matrix products for kernels whose simdgroups are vectors. A matrix is 64 floats: the first elements of
// lanes 0 to 31, then their second ones (row, column + 1), as jit/lanes/calls.h maps them.
#pragma once

extern "C" {
// out = a * b + c; `out` may be `c`, and neither of the others. All are aligned to 32 bytes.
void ingot_lanes_multiply(float* out, const float* a, const float* b, const float* c);
}
