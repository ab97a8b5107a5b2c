// The parts of neon-dotprod's kernel table, one source file each (see simd/mat_mul_types.h).
#pragma once

#include "llm/backend/cpu/kernels/kernel_table.h"

namespace ingot::cpu {

const MatMulKernel* neon_nibble_kernel(QuantType type);
const MatMulKernel* neon_byte_kernel(QuantType type);
const MatMulKernel* neon_super_block_kernel(QuantType type);
const MatMulKernel* neon_float_kernel(QuantType type);

}  // namespace ingot::cpu
