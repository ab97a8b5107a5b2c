#include "llm/graph/dot.h"

#include <fmt/format.h>

namespace ingot::graph {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string node_line(const Module& module, NodeId id) {
    const Node& node = module.graph[id];
    std::string text = fmt::format("{}\\n{}", escaped(module.graph.label(id)), to_string(node.shape));
    if (module.allocation && module.allocation->values[id.index()].slot.valid()) {
        text += fmt::format("\\nslot {}", module.allocation->values[id.index()].slot.index());
    }
    const std::string_view shape = node.op == Op::kInput ? "ellipse" : has_effect(node.op) ? "box3d" : "box";
    return fmt::format("n{} [label=\"{}\" shape={}{}];\n", id.index(), text, shape,
                       module.graph.is_output(id) ? " penwidth=3" : "");
}

}  // namespace

std::string to_dot(const Module& module, std::string_view name) {
    const Graph& graph = module.graph;
    std::string text = fmt::format("digraph \"{}\" {{\n", escaped(name));
    const std::vector<Split> whole = {{BackendId(), 0, uint32_t(graph.size()), {}}};
    const std::vector<Split>& splits = module.splits ? *module.splits : whole;
    for (size_t s = 0; s < splits.size(); ++s) {
        if (module.splits) {
            text += fmt::format("  subgraph cluster_{} {{\n    label=\"split {} @{}\";\n", s, s,
                                graph.backends()[splits[s].backend.index()]);
        }
        for (uint32_t i = splits[s].first; i < splits[s].end; ++i)
            text += "    " + node_line(module, NodeId(i));
        if (module.splits) text += "  }\n";
    }
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        for (size_t role = 0; role < node.inputs.size(); ++role) {
            const NodeId in = node.inputs[role];
            if (!in.valid()) continue;
            const bool crosses = graph[in].backend != node.backend;
            text += fmt::format("  n{} -> n{} [label=\"{}\"{}];\n", in.index(), i,
                                traits(node.op).inputs[role].name, crosses ? " style=dashed" : "");
        }
    }
    return text + "}\n";
}

}  // namespace ingot::graph
