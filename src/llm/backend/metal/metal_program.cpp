#include "llm/backend/metal/metal_program.h"

#include "llm/backend/metal/metal_compiler.h"

namespace ingot::mtl {

Result<std::unique_ptr<MetalProgram>> MetalProgram::compile(MetalBackend& backend, const graph::Graph& graph,
                                                            std::span<const BoundNode> nodes) {
    Compiler compiler(backend, graph);
    for (const BoundNode& bound : nodes) {
        if (auto made = compiler.node(bound); !made) {
            return Failure(with_context(made.error(), fmt::format("metal: {}", graph.label(bound.id))));
        }
    }
    return compiler.finish();
}

std::span<const float> MetalProgram::values(graph::NodeId node) const {
    const auto found = values_.find(node);
    return found == values_.end() ? std::span<const float>() : found->second;
}

}  // namespace ingot::mtl
