// Turns GGUF rows into groups (layout.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/quant/quant.h"

namespace ingot::cpu {

// MatMulKernel::group_bytes and pack_group of a quantized type.
template <QuantType kType>
size_t packed_group_bytes(uint32_t cols);
template <QuantType kType>
void pack_group(const std::byte* rows, uint32_t num_rows, uint32_t cols, std::byte* group);

}  // namespace ingot::cpu
