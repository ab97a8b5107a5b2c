#include "llm/backend/cpu/kernels/avx512/avx512.h"
#include "llm/backend/cpu/kernels/avx512/vec.h"
#include "llm/backend/cpu/kernels/simd/mat_mul.h"
#include "llm/backend/cpu/kernels/simd/mat_mul_types.h"

namespace ingot::cpu {

const MatMulKernel* avx512_nibble_kernel(QuantType type) {
#define INGOT_KERNEL(type, name) quantized_kernel<Avx512, QuantType::type>("avx512-vnni " name),
    static constexpr MatMulKernel kKernels[] = {INGOT_NIBBLE_TYPES(INGOT_KERNEL)};
#undef INGOT_KERNEL
    return find_kernel(kKernels, type);
}

}  // namespace ingot::cpu
