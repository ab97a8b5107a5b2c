// The weight types with a kernel on every vector instruction set, in groups of about equal time to compile:
// each instruction set has one source file a group. X(type, name)
#pragma once

#include <span>

#include "llm/backend/cpu/kernels/mat_mul.h"

#define INGOT_NIBBLE_TYPES(X) X(kQ4_0, "Q4_0") X(kQ4_1, "Q4_1") X(kIQ4_NL, "IQ4_NL") X(kMXFP4, "MXFP4")
#define INGOT_BYTE_TYPES(X) X(kQ5_0, "Q5_0") X(kQ5_1, "Q5_1") X(kQ8_0, "Q8_0")
#define INGOT_SUPER_BLOCK_TYPES(X) \
    X(kQ2_K, "Q2_K") X(kQ3_K, "Q3_K") X(kQ4_K, "Q4_K") X(kQ5_K, "Q5_K") X(kQ6_K, "Q6_K")
#define INGOT_FLOAT_TYPES(X) X(kF32, "F32") X(kF16, "F16") X(kBF16, "BF16")

namespace ingot::cpu {
namespace {

// The kernel of the type, or null.
inline const MatMulKernel* find_kernel(std::span<const MatMulKernel> kernels, QuantType type) {
    for (const MatMulKernel& kernel : kernels) {
        if (kernel.type == type) return &kernel;
    }
    return nullptr;
}

}  // namespace
}  // namespace ingot::cpu
