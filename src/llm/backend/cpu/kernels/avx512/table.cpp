#include "llm/backend/cpu/kernels/avx512/avx512.h"
#include "llm/backend/cpu/kernels/avx512/vec.h"
#include "llm/backend/cpu/kernels/simd/elementwise.h"
#include "llm/backend/cpu/kernels/tables.h"

namespace ingot::cpu {
namespace {

const MatMulKernel* kernel_of(QuantType type) {
    for (const auto kernels :
         {avx512_nibble_kernel, avx512_byte_kernel, avx512_super_block_kernel, avx512_float_kernel}) {
        if (const MatMulKernel* kernel = kernels(type)) return kernel;
    }
    return nullptr;
}

}  // namespace

const KernelTable& avx512_vnni_table() {
    static constexpr KernelTable kTable = vector_table<Avx512>(Isa::kAvx512Vnni, kernel_of);
    return kTable;
}

}  // namespace ingot::cpu
