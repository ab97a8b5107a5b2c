#include "llm/graph/rewrite.h"

#include <algorithm>

#include "base/check.h"

namespace ingot::graph {
namespace {

Graph with_nodes(const Graph& graph, std::vector<Node> nodes, std::vector<NodeId> outputs) {
    return {graph.params(),
            graph.shared_weights(),
            std::move(nodes),
            std::move(outputs),
            {graph.backends().begin(), graph.backends().end()}};
}

}  // namespace

Uses::Uses(const Graph& graph) : users_(graph.size()), is_output_(graph.size()) {
    for (uint32_t i = 0; i < graph.size(); ++i) {
        for (NodeId in : graph[NodeId(i)].inputs) {
            if (in.valid()) users_[in.index()].push_back(NodeId(i));
        }
    }
    for (NodeId id : graph.outputs()) is_output_[id.index()] = true;
}

Graph rewrite(const Graph& graph, const std::vector<Replacement>& replacements) {
    std::map<NodeId, const Replacement*> built_at, replaced_by;
    for (const Replacement& r : replacements) {
        built_at[r.at] = &r;
        for (NodeId value : r.values) replaced_by[value] = &r;
    }
    std::vector<NodeId> now(graph.size());
    std::vector<Node> nodes;
    const auto emit = [&](Node node) {
        for (NodeId& in : node.inputs) {
            if (!in.valid()) continue;
            INGOT_CHECK(now[in.index()].valid(), "%{} is used before its replacement is built", in.index());
            in = now[in.index()];
        }
        nodes.push_back(std::move(node));
        return NodeId(uint32_t(nodes.size() - 1));
    };
    for (uint32_t i = 0; i < graph.size(); ++i) {
        if (!replaced_by.contains(NodeId(i))) now[i] = emit(graph[NodeId(i)]);
        if (const auto found = built_at.find(NodeId(i)); found != built_at.end()) {
            const NodeId id = emit(found->second->node);
            for (NodeId value : found->second->values) now[value.index()] = id;
        }
    }
    std::vector<NodeId> outputs;
    for (NodeId id : graph.outputs()) outputs.push_back(now[id.index()]);
    return with_nodes(graph, std::move(nodes), std::move(outputs));
}

Graph prune(const Graph& graph) {
    std::vector<bool> needed(graph.size());
    for (NodeId id : graph.outputs()) needed[id.index()] = true;
    for (uint32_t i = uint32_t(graph.size()); i-- > 0;) {
        const Node& node = graph[NodeId(i)];
        if (has_effect(node.op)) needed[i] = true;
        if (!needed[i]) continue;
        for (NodeId in : node.inputs) {
            if (in.valid()) needed[in.index()] = true;
        }
    }
    std::vector<NodeId> now(graph.size()), outputs;
    std::vector<Node> nodes;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        if (!needed[i]) continue;
        now[i] = NodeId(uint32_t(nodes.size()));
        nodes.push_back(graph[NodeId(i)]);
        for (NodeId& in : nodes.back().inputs) {
            if (in.valid()) in = now[in.index()];
        }
    }
    for (NodeId id : graph.outputs()) outputs.push_back(now[id.index()]);
    return with_nodes(graph, std::move(nodes), std::move(outputs));
}

}  // namespace ingot::graph
