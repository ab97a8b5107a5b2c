// The kernel tables that a build may contain, one a folder; isa.cpp lists those that it does.
#pragma once

#include "llm/backend/cpu/kernels/kernel_table.h"

namespace ingot::cpu {

const KernelTable& plain_table();
const KernelTable& avx2_table();
const KernelTable& avx_vnni_table();
const KernelTable& avx512_vnni_table();
const KernelTable& neon_dot_table();

}  // namespace ingot::cpu
