// Tools for passes that replace groups of nodes: who uses a value, and a new graph from a list of
// replacements.
#pragma once

#include <map>

#include "llm/graph/graph.h"

namespace ingot::graph {

// For each node the nodes that have it as an input (twice if they use it twice), plus whether an output is
// it.
class Uses {
  public:
    explicit Uses(const Graph& graph);

    std::span<const NodeId> of(NodeId id) const { return users_[id.index()]; }
    // `id` has exactly one user and the caller of the graph does not read it.
    bool single(NodeId id) const { return users_[id.index()].size() == 1 && !is_output_[id.index()]; }

  private:
    std::vector<std::vector<NodeId>> users_;
    std::vector<bool> is_output_;
};

// `node` takes the place of `members`: it is built where the last of them was, and every use of one of
// `values` (members whose value others see) becomes a use of it. Members that nothing uses any more are left
// to prune().
struct Replacement {
    Node node;
    std::vector<NodeId> values;
    NodeId at;
};

// Operands in the replacements name nodes of `graph`.
Graph rewrite(const Graph& graph, const std::vector<Replacement>& replacements);

// Without the nodes that neither an output nor the KV cache needs.
Graph prune(const Graph& graph);

}  // namespace ingot::graph
