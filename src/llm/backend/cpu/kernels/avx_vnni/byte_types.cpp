#include "llm/backend/cpu/kernels/avx_vnni/avx_vnni.h"
#include "llm/backend/cpu/kernels/avx_vnni/vec.h"
#include "llm/backend/cpu/kernels/simd/mat_mul.h"
#include "llm/backend/cpu/kernels/simd/mat_mul_types.h"

namespace ingot::cpu {

const MatMulKernel* avx_vnni_byte_kernel(QuantType type) {
#define INGOT_KERNEL(type, name) quantized_kernel<AvxVnni, QuantType::type>("avx-vnni " name),
    static constexpr MatMulKernel kKernels[] = {INGOT_BYTE_TYPES(INGOT_KERNEL)};
#undef INGOT_KERNEL
    return find_kernel(kKernels, type);
}

}  // namespace ingot::cpu
