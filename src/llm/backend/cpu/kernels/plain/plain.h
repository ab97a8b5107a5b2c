// The portable kernels behind plain_table(): the reference that the others are tested against. Float
// arithmetic in the obvious order, weights dequantized by their traits, activations as they are.
#pragma once

#include "llm/backend/cpu/kernels/kernel_table.h"

namespace ingot::cpu {

void plain_attend(const AttendTask& task);
const MatMulKernel* plain_mat_mul(QuantType type);

}  // namespace ingot::cpu
