// Qwen 3, dense: queries and keys are normalised per head before the rotation, and the head size is the
// file's (key_length), not width / heads.
#pragma once

#include <array>

#include "llm/model/architecture.h"

namespace ingot::model::qwen3 {

// clang-format off
inline constexpr std::array kTensors = {
    TensorRule{"blk.*.attn_q_norm.weight", Extent::kOne, Extent::kHeadDim},
    TensorRule{"blk.*.attn_k_norm.weight", Extent::kOne, Extent::kHeadDim},
};
// clang-format on

void build(graph::GraphBuilder& b, const HyperParams& hyper);

}  // namespace ingot::model::qwen3
