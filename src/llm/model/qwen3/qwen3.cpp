#include "llm/model/qwen3/qwen3.h"

#include "llm/model/blocks.h"

namespace ingot::model::qwen3 {

void build(graph::GraphBuilder& b, const HyperParams& hyper) {
    const AttentionSpec spec{.rope = hyper.rope, .head_norms = true};
    graph::NodeId x = embed_tokens(b);
    for (uint32_t layer = 0; layer < hyper.layers; ++layer) x = pre_norm_layer(b, hyper, layer, x, spec);
    output_logits(b, hyper, x);
}

}  // namespace ingot::model::qwen3
