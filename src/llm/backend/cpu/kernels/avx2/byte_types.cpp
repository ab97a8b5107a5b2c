#include "llm/backend/cpu/kernels/avx2/avx2.h"
#include "llm/backend/cpu/kernels/avx2/vec.h"
#include "llm/backend/cpu/kernels/simd/mat_mul.h"
#include "llm/backend/cpu/kernels/simd/mat_mul_types.h"

namespace ingot::cpu {

const MatMulKernel* avx2_byte_kernel(QuantType type) {
#define INGOT_KERNEL(type, name) quantized_kernel<Avx2, QuantType::type>("avx2 " name),
    static constexpr MatMulKernel kKernels[] = {INGOT_BYTE_TYPES(INGOT_KERNEL)};
#undef INGOT_KERNEL
    return find_kernel(kKernels, type);
}

}  // namespace ingot::cpu
