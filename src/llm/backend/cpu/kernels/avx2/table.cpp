#include "llm/backend/cpu/kernels/avx2/avx2.h"
#include "llm/backend/cpu/kernels/avx2/vec.h"
#include "llm/backend/cpu/kernels/simd/elementwise.h"
#include "llm/backend/cpu/kernels/tables.h"

namespace ingot::cpu {
namespace {

const MatMulKernel* kernel_of(QuantType type) {
    for (const auto kernels :
         {avx2_nibble_kernel, avx2_byte_kernel, avx2_super_block_kernel, avx2_float_kernel}) {
        if (const MatMulKernel* kernel = kernels(type)) return kernel;
    }
    return nullptr;
}

}  // namespace

const KernelTable& avx2_table() {
    static constexpr KernelTable kTable = vector_table<Avx2>(Isa::kAvx2, kernel_of);
    return kTable;
}

}  // namespace ingot::cpu
