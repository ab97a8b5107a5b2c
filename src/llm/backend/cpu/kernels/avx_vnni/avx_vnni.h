// The parts of avx-vnni's kernel table that aren't avx2's, one source file each (see simd/mat_mul_types.h).
#pragma once

#include "llm/backend/cpu/kernels/kernel_table.h"

namespace ingot::cpu {

const MatMulKernel* avx_vnni_nibble_kernel(QuantType type);
const MatMulKernel* avx_vnni_byte_kernel(QuantType type);
const MatMulKernel* avx_vnni_super_block_kernel(QuantType type);

}  // namespace ingot::cpu
