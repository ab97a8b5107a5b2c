#include "llm/backend/cpu/kernels/neon/neon.h"
#include "llm/backend/cpu/kernels/neon/vec.h"
#include "llm/backend/cpu/kernels/simd/elementwise.h"
#include "llm/backend/cpu/kernels/tables.h"

namespace ingot::cpu {
namespace {

const MatMulKernel* kernel_of(QuantType type) {
    for (const auto kernels :
         {neon_nibble_kernel, neon_byte_kernel, neon_super_block_kernel, neon_float_kernel}) {
        if (const MatMulKernel* kernel = kernels(type)) return kernel;
    }
    return nullptr;
}

}  // namespace

const KernelTable& neon_dot_table() {
    static constexpr KernelTable kTable = vector_table<Neon>(Isa::kNeonDot, kernel_of);
    return kTable;
}

}  // namespace ingot::cpu
