// The parts of avx2's kernel table, one source file each (see simd/mat_mul_types.h).
#pragma once

#include "llm/backend/cpu/kernels/kernel_table.h"

namespace ingot::cpu {

const MatMulKernel* avx2_nibble_kernel(QuantType type);
const MatMulKernel* avx2_byte_kernel(QuantType type);
const MatMulKernel* avx2_super_block_kernel(QuantType type);
const MatMulKernel* avx2_float_kernel(QuantType type);

}  // namespace ingot::cpu
