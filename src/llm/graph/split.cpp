#include <set>

#include "llm/graph/pass.h"

namespace ingot::graph {

Result<Module> split(const Module& module, const PassContext&) {
    const Graph& graph = module.graph;
    std::vector<Split> splits;
    std::set<std::pair<NodeId, BackendId>> copied;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        const bool executes = node.op != Op::kInput && !is_alias(node.op);
        // Nodes that don't execute join whatever split they fall into.
        if (splits.empty()) splits.push_back({node.backend, 0, 0, {}});
        if (executes && splits.back().backend != node.backend) {
            bool only_followers = true;
            for (uint32_t j = splits.back().first; j < i; ++j) {
                const Op op = graph[NodeId(j)].op;
                only_followers &= op == Op::kInput || is_alias(op);
            }
            if (only_followers) {
                splits.back().backend = node.backend;
            } else {
                splits.push_back({node.backend, i, i, {}});
            }
        }
        splits.back().end = i + 1;
        if (!executes) continue;
        for (NodeId in : node.inputs) {
            if (!in.valid() || graph[in].backend == node.backend) continue;
            if (copied.emplace(in, node.backend).second) splits.back().copies.push_back(in);
        }
    }
    return Module{graph, std::move(splits), {}};
}

}  // namespace ingot::graph
