// Llama and the models that follow it (SmolLM2, Mistral 7B, TinyLlama): rotary pairs interleaved, no biases
// as a rule, per-pair frequency divisors where a file holds them (Llama 3.1 and later).
#pragma once

#include <array>

#include "llm/model/architecture.h"

namespace ingot::model::llama {

// clang-format off
inline constexpr std::array kTensors = {
    TensorRule{"rope_freqs.weight",       Extent::kOne, Extent::kRopePairs, true},
    TensorRule{"blk.*.attn_q.bias",       Extent::kOne, Extent::kQuery,     true},
    TensorRule{"blk.*.attn_k.bias",       Extent::kOne, Extent::kKeyValue,  true},
    TensorRule{"blk.*.attn_v.bias",       Extent::kOne, Extent::kKeyValue,  true},
    TensorRule{"blk.*.attn_output.bias",  Extent::kOne, Extent::kWidth,     true},
    TensorRule{"blk.*.ffn_gate.bias",     Extent::kOne, Extent::kFfn,       true},
    TensorRule{"blk.*.ffn_up.bias",       Extent::kOne, Extent::kFfn,       true},
    TensorRule{"blk.*.ffn_down.bias",     Extent::kOne, Extent::kWidth,     true},
};
// clang-format on

void build(graph::GraphBuilder& b, const HyperParams& hyper);

}  // namespace ingot::model::llama
