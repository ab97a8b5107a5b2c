#include "llm/backend/cpu/kernels/mat_mul.h"

#include <array>

#include "llm/backend/cpu/kernels/plain/plain.h"

namespace ingot::cpu {
namespace {

size_t row_floats_bytes(uint32_t cols) {
    return size_t(cols) * sizeof(float);
}

// Eight partial sums, so that the error grows with K / 8 and the compiler may use vectors.
float dot(const float* a, const float* b, uint32_t n) {
    constexpr uint32_t kLanes = 8;
    float sums[kLanes] = {};
    uint32_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
    }
    for (; i < n; ++i) sums[i % kLanes] += a[i] * b[i];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

template <QuantType kType>
void multiply(const MultiplyArgs& args) {
    const QuantTraits& quant = traits(kType);
    const size_t row_bytes = size_t(args.cols) / quant.block_size * quant.block_size_bytes;
    auto* row = reinterpret_cast<float*>(args.scratch);
    const auto* x = reinterpret_cast<const float*>(args.activations);
    for (uint32_t r = 0; r < args.num_rows; ++r) {
        quant.dequantize(args.weights + r * row_bytes, row, args.cols);
        for (uint32_t t = 0; t < args.num_tokens; ++t) {
            args.y[t * args.y_stride + r] = dot(row, x + t * args.activation_stride, args.cols);
        }
    }
}

template <QuantType kType>
constexpr MatMulKernel kernel(const char* name) {
    return {.type = kType,
            .name = name,
            .group_bytes = nullptr,
            .pack_group = nullptr,
            .activation_format = 0,
            .activation_bytes = nullptr,
            .quantize = nullptr,
            .tile_tokens = 1,
            .direct_tile_tokens = 1,
            .max_direct_tokens = 8,
            .scratch_bytes = row_floats_bytes,
            .multiply = multiply<kType>};
}

constexpr std::array kKernels = {
    kernel<QuantType::kF32>("plain F32"),     kernel<QuantType::kF16>("plain F16"),
    kernel<QuantType::kBF16>("plain BF16"),   kernel<QuantType::kQ4_0>("plain Q4_0"),
    kernel<QuantType::kQ4_1>("plain Q4_1"),   kernel<QuantType::kQ5_0>("plain Q5_0"),
    kernel<QuantType::kQ5_1>("plain Q5_1"),   kernel<QuantType::kQ8_0>("plain Q8_0"),
    kernel<QuantType::kQ2_K>("plain Q2_K"),   kernel<QuantType::kQ3_K>("plain Q3_K"),
    kernel<QuantType::kQ4_K>("plain Q4_K"),   kernel<QuantType::kQ5_K>("plain Q5_K"),
    kernel<QuantType::kQ6_K>("plain Q6_K"),   kernel<QuantType::kIQ4_NL>("plain IQ4_NL"),
    kernel<QuantType::kMXFP4>("plain MXFP4"),
};

}  // namespace

const MatMulKernel* plain_mat_mul(QuantType type) {
    for (const MatMulKernel& kernel : kKernels) {
        if (kernel.type == type) return &kernel;
    }
    return nullptr;
}

}  // namespace ingot::cpu
