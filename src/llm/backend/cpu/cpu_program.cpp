#include "llm/backend/cpu/cpu_program.h"

#include "llm/backend/cpu/cpu_compiler.h"

namespace ingot::cpu {

Result<std::unique_ptr<CpuProgram>> CpuProgram::compile(CpuBackend& backend, const graph::Graph& graph,
                                                        std::span<const BoundNode> nodes) {
    Compiler compiler(backend, graph);
    for (const BoundNode& bound : nodes) {
        if (auto made = compiler.node(bound); !made) {
            return Failure(with_context(made.error(), fmt::format("cpu: {}", graph.label(bound.id))));
        }
    }
    return compiler.finish();
}

std::span<const float> CpuProgram::values(graph::NodeId node) const {
    const auto found = values_.find(node);
    return found == values_.end() ? std::span<const float>() : found->second;
}

}  // namespace ingot::cpu
