// Pieces of a decoder's graph that architectures share. A piece finds its weights by their GGUF names; a bias
// is used where the file has one (which tensors a file may have is decided by the architecture's rules).
#pragma once

#include <string>
#include <string_view>

#include "llm/graph/builder.h"
#include "llm/model/hyper_params.h"

namespace ingot::model {

// "blk.<layer>.<suffix>"
std::string layer_name(uint32_t layer, std::string_view suffix);

// [tokens, width]
graph::NodeId embed_tokens(graph::GraphBuilder& b);

// Norm with the gain "<name>.weight" of a layer.
graph::NodeId layer_norm(graph::GraphBuilder& b, const HyperParams& hyper, uint32_t layer,
                         std::string_view name, graph::NodeId x);

struct AttentionSpec {
    graph::RopeParams rope;
    graph::WeightId rope_factors = {};  // invalid: none
    uint32_t window = 0;                // 0: the whole context
    bool head_norms = false;            // attn_q_norm and attn_k_norm, before the rotation
};

// From the normalised input to the concatenated heads, [tokens, heads * head_dim]: projections, rotation, KV
// store, attention. The output projection is apart, because rows may be dropped between (select_outputs).
graph::NodeId attend(graph::GraphBuilder& b, const HyperParams& hyper, uint32_t layer, graph::NodeId x,
                     const AttentionSpec& spec);
graph::NodeId project_attention(graph::GraphBuilder& b, uint32_t layer, graph::NodeId heads);

// down(activation(gate x) * up x)
graph::NodeId gated_ffn(graph::GraphBuilder& b, uint32_t layer, graph::NodeId x,
                        graph::Activation activation);

// The rows whose logits are wanted. Only the last layer uses it, between attention and what follows, so that
// those rows alone are carried on. With as many outputs as tokens all rows are meant, in order.
graph::NodeId select_outputs(graph::GraphBuilder& b, graph::NodeId x);

// Final norm and vocabulary projection of the rows that select_outputs left; marked as the graph's output.
// With no outputs there is nothing to do: the graph only fills the KV cache.
void output_logits(graph::GraphBuilder& b, const HyperParams& hyper, graph::NodeId x);

// The layer of llama and its kin: x + attention(norm(x)), then x + ffn(norm(x)).
graph::NodeId pre_norm_layer(graph::GraphBuilder& b, const HyperParams& hyper, uint32_t layer,
                             graph::NodeId x, const AttentionSpec& spec);

}  // namespace ingot::model
