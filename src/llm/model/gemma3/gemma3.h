// Gemma 3, text: embeddings scaled by sqrt(width), a norm before and after each block, GELU gates, norms of
// heads, and most layers seeing only a sliding window with a rotary base of their own. Files store norm gains
// with the architecture's "1 +" already added.
#pragma once

#include <array>

#include "llm/model/architecture.h"

namespace ingot::model::gemma3 {

// clang-format off
inline constexpr std::array kTensors = {
    TensorRule{"blk.*.attn_q_norm.weight",         Extent::kOne, Extent::kHeadDim},
    TensorRule{"blk.*.attn_k_norm.weight",         Extent::kOne, Extent::kHeadDim},
    TensorRule{"blk.*.post_attention_norm.weight", Extent::kOne, Extent::kWidth},
    TensorRule{"blk.*.post_ffw_norm.weight",       Extent::kOne, Extent::kWidth},
};
// clang-format on

Result<void> read(const Keys& keys, HyperParams& hyper);
void build(graph::GraphBuilder& b, const HyperParams& hyper);

}  // namespace ingot::model::gemma3
