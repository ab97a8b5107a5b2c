// Products of matrices that lie in NAX fragments (fibers/cooperative_layout.h) over the 32 lanes of a
// simdgroup, for kernels whose simdgroups are vectors. A fragment of 16 x 16 is 256 floats: the first
// elements of lanes 0 to 31, then their second ones, up to eight; a matrix is its fragments row by row.
#pragma once

#include <cstdint>

extern "C" {
// out[m, n] = a[m, k] * b[k, n] + c[m, n]; sizes count fragments. `transposed` has bit 0 set if `a` lies as
// [k, m], bit 1 if `b` lies as [n, k]; a transposed operand has at most 4 fragments. `out` may be `c`, and
// neither of the others. All are aligned to 32 bytes.
void ingot_lanes_multiply_fragments(float* out, const float* a, const float* b, const float* c, uint32_t m,
                                    uint32_t n, uint32_t k, uint32_t transposed);
}
