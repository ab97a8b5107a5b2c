#include "llm/model/memory.h"

#include <algorithm>

#include "base/check.h"
#include "llm/graph/pipeline.h"

namespace ingot::model {

kv::Format default_kv_format(const HyperParams& hyper) {
    return uint64_t(hyper.layers) * hyper.kv_width() < 8192 ? kv::Format::kF32 : kv::Format::kF16;
}

uint32_t default_context(const HyperParams& hyper) {
    return std::min(hyper.context, 4096u);
}

uint64_t kv_size_bytes(const HyperParams& hyper, kv::Format format, uint32_t context) {
    return 2ull * hyper.layers * context * kv::row_bytes(format, hyper.kv_width());
}

Result<MemoryUse> estimate_memory(const Model& model, const Backend& backend, kv::Format format,
                                  uint32_t context, uint32_t batch) {
    MemoryUse use;
    for (const graph::Weight& weight : model.weights()->all()) use.weight_bytes += weight.data.size();
    use.kv_bytes = kv_size_bytes(model.hyper(), format, context);
    graph::GraphParams params;
    params.tokens = std::max(1u, std::min(batch, context));
    params.kv_format = format;
    INGOT_ASSIGN(graph::Graph graph, model.build(params));
    const Backend* const backends[] = {&backend};
    INGOT_ASSIGN(const graph::Module module, graph::compile(std::move(graph), {backends}));
    INGOT_CHECK(module.allocation.has_value(), "compile() ends with the allocation");
    for (const graph::Slot& slot : module.allocation->slots) use.compute_bytes += slot.size_bytes;
    return use;
}

}  // namespace ingot::model
