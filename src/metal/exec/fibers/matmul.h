// matmul2d of the fiber runtime. The last lane of a simdgroup computes the simdgroup's part of the product;
// in a scope of several simdgroups each has its own part, and they don't wait for each other (as Apple has
// it, threadgroup memory needs the kernel's barriers). A scope of one thread computes alone.
#pragma once

#include "metal/exec/fibers/lane.h"
#include "metal/exec/fibers/tensor_types.h"

extern "C" {
// Operands are a lane's elements or a TensorView, as their codes say (operand_code). `threads` of the scope.
void ingot_matmul2d(ingot::metal::fibers::Lane* me, uint32_t site,
                    const ingot::metal::fibers::MatmulDescriptor* descriptor, const void* left,
                    uint32_t left_code, const void* right, uint32_t right_code, void* destination,
                    uint32_t destination_code, uint32_t threads, uint32_t layout);
// The same for a simdgroup (number `simdgroup` of its threadgroup) whose threads are lanes of vectors:
// operands are by lane.
void ingot_lanes_matmul2d(uint32_t mask, uint32_t simdgroup,
                          const ingot::metal::fibers::MatmulDescriptor* descriptor, const uint64_t* left,
                          uint32_t left_code, const uint64_t* right, uint32_t right_code,
                          const uint64_t* destination, uint32_t destination_code, uint32_t threads,
                          uint32_t layout);
}
