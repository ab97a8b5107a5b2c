// Kernels that the tile compiler makes of programs in kernels/*.tile, when they are needed first. Each is a
// row of kernel_table.h like any other; what launches it comes from the compiler, too.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "llm/backend/metal/kernel_table.h"
#include "tile/api/compile.h"

namespace ingot::mtl {

// Of a kernel with is_generated(kernel); lives as long as the process. Buffers are bound in the order of the
// program's tensors, and the packed dims follow in the next slot.
const tile::CompiledKernel& generated_kernel(const KernelId& kernel);

}  // namespace ingot::mtl
