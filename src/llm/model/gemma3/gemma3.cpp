#include "llm/model/gemma3/gemma3.h"

#include <cmath>

#include "llm/model/blocks.h"

namespace ingot::model::gemma3 {
namespace {

// Every sixth layer of the published models sees everything; a file may say otherwise, by a number (every
// n-th) or by a list of booleans (true: the layer slides).
Result<std::vector<bool>> read_pattern(const Keys& keys, uint32_t layers) {
    constexpr std::string_view kKey = "attention.sliding_window_pattern";
    const gguf::Value* value = keys.file().find(keys.name(kKey));
    if (value && std::holds_alternative<gguf::Array>(value->value)) {
        const auto* list = std::get_if<std::vector<bool>>(&std::get<gguf::Array>(value->value).items);
        if (list && list->size() == layers) return *list;
        return keys.refuse(kKey, "another list", fmt::format("a number, or {} booleans", layers));
    }
    INGOT_ASSIGN(const uint32_t period, keys.count(kKey, 1, 1024, 6));
    std::vector<bool> slides(layers);
    for (uint32_t layer = 0; layer < layers; ++layer) slides[layer] = (layer + 1) % period != 0;
    return slides;
}

graph::NodeId build_layer(graph::GraphBuilder& b, const HyperParams& hyper, uint32_t layer, graph::NodeId x) {
    const bool local = hyper.is_local(layer);
    const AttentionSpec spec{.rope = local ? hyper.rope_local : hyper.rope,
                             .window = local ? hyper.window : 0,
                             .head_norms = true};
    graph::NodeId heads = attend(b, hyper, layer, layer_norm(b, hyper, layer, "attn_norm", x), spec);
    if (layer + 1 == hyper.layers) {
        heads = select_outputs(b, heads);
        x = select_outputs(b, x);
    }
    x = b.add(x, layer_norm(b, hyper, layer, "post_attention_norm", project_attention(b, layer, heads)));
    const graph::NodeId ffn =
        gated_ffn(b, layer, layer_norm(b, hyper, layer, "ffn_norm", x), graph::Activation::kGelu);
    return b.add(x, layer_norm(b, hyper, layer, "post_ffw_norm", ffn));
}

}  // namespace

Result<void> read(const Keys& keys, HyperParams& hyper) {
    hyper.embedding_scale = std::sqrt(float(hyper.width));
    // The 27B model alone scales by its width per head; its layer count is how files tell it from the others.
    constexpr uint32_t kLayersOf27B = 62;
    if (hyper.layers == kLayersOf27B)
        hyper.attention_scale = 1.0f / std::sqrt(float(hyper.width) / hyper.heads);
    INGOT_ASSIGN(hyper.window, keys.count("attention.sliding_window", 0, 1u << 30, 0));
    if (hyper.window == 0) return {};
    INGOT_ASSIGN(hyper.slides, read_pattern(keys, hyper.layers));
    hyper.rope_local = {.style = hyper.rope.style,
                        .dims = hyper.rope.dims};  // frequency scaling is for the others
    INGOT_ASSIGN(hyper.rope_local.base, keys.number("rope.freq_base_swa", 1.0, 1e12, 10000.0f));
    return {};
}

void build(graph::GraphBuilder& b, const HyperParams& hyper) {
    graph::NodeId x = b.scale(embed_tokens(b), hyper.embedding_scale);
    for (uint32_t layer = 0; layer < hyper.layers; ++layer) x = build_layer(b, hyper, layer, x);
    output_logits(b, hyper, x);
}

}  // namespace ingot::model::gemma3
