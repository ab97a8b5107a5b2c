// The MatMulKernel of a quantized type on an instruction set.
#pragma once

#include "llm/backend/cpu/kernels/groups/pack.h"
#include "llm/backend/cpu/kernels/simd/panel.h"

namespace ingot::cpu {
namespace {

// Batches of up to this many tokens are multiplied from the packed weights.
template <typename V>
constexpr uint32_t kDirectTokens = 2 * V::kDirectTileTokens;

template <typename V, QuantType kType>
void multiply_quantized(const MultiplyArgs& args) {
    if (args.direct) {
        multiply_direct<V, kType>(args);
    } else {
        multiply_batch<V, kType>(args);
    }
}

template <typename V, QuantType kType>
constexpr MatMulKernel quantized_kernel(const char* name) {
    using T = Traits<V, kType>;
    using Format = ActivationFormat<T::kOffset, T::kHalves>;
    return {.type = kType,
            .name = name,
            .group_bytes = packed_group_bytes<kType>,
            .pack_group = pack_group<kType>,
            .activation_format = Format::kId,
            .activation_bytes = Format::bytes,
            .quantize = quantize_tile<V, T::kOffset, T::kHalves>,
            .tile_tokens = V::kTileTokens,
            .direct_tile_tokens = V::kDirectTileTokens,
            .max_direct_tokens = kDirectTokens<V>,
            .scratch_bytes = panel_scratch_bytes<V, kType>,
            .multiply = multiply_quantized<V, kType>};
}

}  // namespace
}  // namespace ingot::cpu
