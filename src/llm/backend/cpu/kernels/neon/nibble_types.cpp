#include "llm/backend/cpu/kernels/neon/neon.h"
#include "llm/backend/cpu/kernels/neon/vec.h"
#include "llm/backend/cpu/kernels/simd/mat_mul.h"
#include "llm/backend/cpu/kernels/simd/mat_mul_types.h"

namespace ingot::cpu {

const MatMulKernel* neon_nibble_kernel(QuantType type) {
#define INGOT_KERNEL(type, name) quantized_kernel<Neon, QuantType::type>("neon-dotprod " name),
    static constexpr MatMulKernel kKernels[] = {INGOT_NIBBLE_TYPES(INGOT_KERNEL)};
#undef INGOT_KERNEL
    return find_kernel(kKernels, type);
}

}  // namespace ingot::cpu
