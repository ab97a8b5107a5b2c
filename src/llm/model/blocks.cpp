#include "llm/model/blocks.h"

namespace ingot::model {

using graph::GraphBuilder;
using graph::NodeId;
using graph::WeightId;

namespace {

// x through the matrix "<name>.weight" of a layer, plus "<name>.bias" if there is one.
NodeId project(GraphBuilder& b, uint32_t layer, std::string_view name, NodeId x) {
    const WeightId matrix = b.weight(layer_name(layer, fmt::format("{}.weight", name)));
    return b.mat_mul(matrix, x, b.optional_weight(layer_name(layer, fmt::format("{}.bias", name))));
}

}  // namespace

std::string layer_name(uint32_t layer, std::string_view suffix) {
    return fmt::format("blk.{}.{}", layer, suffix);
}

NodeId embed_tokens(GraphBuilder& b) {
    return b.get_rows(b.weight("token_embd.weight"), b.tokens());
}

NodeId layer_norm(GraphBuilder& b, const HyperParams& hyper, uint32_t layer, std::string_view name,
                  NodeId x) {
    return b.rms_norm(x, b.weight(layer_name(layer, fmt::format("{}.weight", name))), hyper.norm_epsilon);
}

NodeId attend(GraphBuilder& b, const HyperParams& hyper, uint32_t layer, NodeId x,
              const AttentionSpec& spec) {
    NodeId q = b.split_heads(project(b, layer, "attn_q", x), hyper.heads, hyper.head_dim);
    NodeId k = b.split_heads(project(b, layer, "attn_k", x), hyper.kv_heads, hyper.head_dim);
    const NodeId v = b.split_heads(project(b, layer, "attn_v", x), hyper.kv_heads, hyper.head_dim);
    if (spec.head_norms) {
        q = b.qk_norm(q, b.weight(layer_name(layer, "attn_q_norm.weight")), hyper.norm_epsilon);
        k = b.qk_norm(k, b.weight(layer_name(layer, "attn_k_norm.weight")), hyper.norm_epsilon);
    }
    q = b.rope(q, b.positions(), spec.rope, spec.rope_factors);
    k = b.rope(k, b.positions(), spec.rope, spec.rope_factors);
    b.kv_store(layer, k, v);
    return b.attention(q, layer,
                       {.heads = hyper.heads,
                        .kv_heads = hyper.kv_heads,
                        .head_dim = hyper.head_dim,
                        .scale = hyper.attention_scale,
                        .window = spec.window});
}

NodeId project_attention(GraphBuilder& b, uint32_t layer, NodeId heads) {
    return project(b, layer, "attn_output", heads);
}

NodeId gated_ffn(GraphBuilder& b, uint32_t layer, NodeId x, graph::Activation activation) {
    const NodeId gate = project(b, layer, "ffn_gate", x);
    const NodeId up = project(b, layer, "ffn_up", x);
    // Written as two ops: fusing them is a pass's choice.
    const NodeId active = activation == graph::Activation::kSilu ? b.silu(gate) : b.gelu(gate);
    return project(b, layer, "ffn_down", b.mul(active, up));
}

NodeId select_outputs(GraphBuilder& b, NodeId x) {
    const bool all = b.params().outputs == b.params().tokens;
    return all || b.params().outputs == 0 ? x : b.get_rows(x, b.outputs());
}

void output_logits(GraphBuilder& b, const HyperParams& hyper, NodeId x) {
    if (b.params().outputs == 0) return;
    WeightId head = b.optional_weight("output.weight");
    if (!head.valid()) head = b.weight("token_embd.weight");
    b.output(b.mat_mul(head, b.rms_norm(x, b.weight("output_norm.weight"), hyper.norm_epsilon)));
}

NodeId pre_norm_layer(GraphBuilder& b, const HyperParams& hyper, uint32_t layer, NodeId x,
                      const AttentionSpec& spec) {
    NodeId heads = attend(b, hyper, layer, layer_norm(b, hyper, layer, "attn_norm", x), spec);
    if (layer + 1 == hyper.layers) {
        heads = select_outputs(b, heads);
        x = select_outputs(b, x);
    }
    x = b.add(x, project_attention(b, layer, heads));
    const NodeId ffn =
        gated_ffn(b, layer, layer_norm(b, hyper, layer, "ffn_norm", x), graph::Activation::kSilu);
    return b.add(x, ffn);
}

}  // namespace ingot::model
