// Qwen 2 and 2.5: as llama, with biases on the query, key and value projections and rotary pairs in halves.
#pragma once

#include <array>

#include "llm/model/architecture.h"

namespace ingot::model::qwen2 {

// clang-format off
inline constexpr std::array kTensors = {
    TensorRule{"blk.*.attn_q.bias", Extent::kOne, Extent::kQuery},
    TensorRule{"blk.*.attn_k.bias", Extent::kOne, Extent::kKeyValue},
    TensorRule{"blk.*.attn_v.bias", Extent::kOne, Extent::kKeyValue},
};
// clang-format on

void build(graph::GraphBuilder& b, const HyperParams& hyper);

}  // namespace ingot::model::qwen2
