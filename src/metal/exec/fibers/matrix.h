// Products of 8x8 simdgroup matrices. A lane owns two neighbouring elements of each matrix
// (Lane::matrix_element); the compiler gathers the products of a basic block, so that all of them take one
// meeting: it writes operands into the simdgroup's matrix slots, passes a program, and reads accumulators
// back.
#pragma once

#include "metal/exec/fibers/lane.h"

extern "C" {
// program: count, then count triples of slots (a, b, c), each c += a * b, in order.
void ingot_multiply_matrices(ingot::metal::fibers::Lane* me, const uint32_t* program);
}
