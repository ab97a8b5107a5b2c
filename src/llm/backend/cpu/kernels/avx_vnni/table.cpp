#include "llm/backend/cpu/kernels/avx_vnni/avx_vnni.h"
#include "llm/backend/cpu/kernels/mat_mul.h"
#include "llm/backend/cpu/kernels/tables.h"

namespace ingot::cpu {
namespace {

const MatMulKernel* kernel_of(QuantType type) {
    for (const auto kernels : {avx_vnni_nibble_kernel, avx_vnni_byte_kernel, avx_vnni_super_block_kernel}) {
        if (const MatMulKernel* kernel = kernels(type)) return kernel;
    }
    return avx2_table().mat_mul(type);
}

}  // namespace

const KernelTable& avx_vnni_table() {
    static const KernelTable kTable = [] {
        KernelTable table = avx2_table();
        table.isa = Isa::kAvxVnni;
        table.mat_mul = kernel_of;
        return table;
    }();
    return kTable;
}

}  // namespace ingot::cpu
