#include "llm/model/llama/llama.h"

#include "llm/model/blocks.h"

namespace ingot::model::llama {

void build(graph::GraphBuilder& b, const HyperParams& hyper) {
    const AttentionSpec spec{.rope = hyper.rope, .rope_factors = b.optional_weight("rope_freqs.weight")};
    graph::NodeId x = embed_tokens(b);
    for (uint32_t layer = 0; layer < hyper.layers; ++layer) x = pre_norm_layer(b, hyper, layer, x, spec);
    output_logits(b, hyper, x);
}

}  // namespace ingot::model::llama
