#include <map>

#include "llm/graph/pass.h"

namespace ingot::graph {
namespace {

constexpr uint32_t kNoLayer = ~0u;

// The layer whose KV cells the node reads or writes.
uint32_t kv_layer(const Graph& graph, const Node& node) {
    if (node.op == Op::kKvcacheStore || node.op == Op::kKvcacheLoad) return node.as<KvAttrs>().layer;
    if (node.op == Op::kAttn) return kv_layer(graph, graph[node.inputs[1]]);
    if (has_effect(node.op)) return node.as<QkvAttrs>().layer;
    return kNoLayer;
}

// The block of each node: that of its weights, of its KV cells, or else of what it reads.
std::vector<uint32_t> blocks_of_nodes(const Graph& graph) {
    std::vector<uint32_t> blocks(graph.size(), kNoLayer);
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        bool has_weights = false;
        blocks[i] = kv_layer(graph, node);
        for (WeightId id : node.weights) {
            if (!id.valid()) continue;
            has_weights = true;
            if (const auto block = block_of(graph.weights()[id].name)) blocks[i] = *block;
        }
        if (has_weights || blocks[i] != kNoLayer) continue;
        for (NodeId in : node.inputs) {
            const uint32_t block = in.valid() ? blocks[in.index()] : kNoLayer;
            if (block != kNoLayer && (blocks[i] == kNoLayer || block > blocks[i])) blocks[i] = block;
        }
    }
    return blocks;
}

// Nodes that must be on one backend: one node, or all that share a layer's KV cells.
using Group = std::vector<NodeId>;

Result<BackendId> first_that_supports(const Graph& graph, const Group& group, uint32_t block,
                                      const PassContext& context) {
    std::string refusals;
    // Where blocks are divided between backends, each serves its own or the model is refused.
    const bool divided = context.first_backend_blocks != kAllBlocks;
    const bool elsewhere = divided && block >= context.first_backend_blocks;
    const size_t end = divided && !elsewhere ? 1 : context.backends.size();
    for (size_t b = elsewhere ? 1 : 0; b < end; ++b) {
        const Backend& backend = *context.backends[b];
        bool supported = true;
        for (NodeId id : group) {
            const Result<void> answer = backend.supports_op(graph, graph[id]);
            if (answer) continue;
            supported = false;
            refusals += fmt::format("; {} refuses {}: {}", backend.name(), graph.label(id),
                                    answer.error().describe());
            break;
        }
        if (supported) return BackendId(b);
    }
    return fail(ErrorKind::kUnsupported, "no backend runs {}{}", graph.label(group[0]), refusals);
}

// Views stay with what they look at; inputs, and views of inputs, go where they are used first.
void place_followers(std::vector<Node>& nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
        if (is_alias(nodes[i].op)) nodes[i].backend = nodes[nodes[i].inputs[0].index()].backend;
    }
    for (size_t i = nodes.size(); i-- > 0;) {
        // Backwards, so that the first consumer has the last word.
        const BackendId backend = nodes[i].backend;
        if (!backend.valid()) continue;
        for (NodeId in : nodes[i].inputs) {
            if (!in.valid()) continue;
            const Op op = nodes[in.index()].op;
            const bool follows = op == Op::kInput || (is_alias(op) && !nodes[in.index()].backend.valid());
            if (follows) nodes[in.index()].backend = backend;
        }
    }
    for (size_t i = 0; i < nodes.size(); ++i) {
        Node& node = nodes[i];
        if (is_alias(node.op)) node.backend = nodes[node.inputs[0].index()].backend;
        if (!node.backend.valid()) node.backend = BackendId(0);  // an input that nothing uses
    }
}

}  // namespace

Result<Module> assign(const Module& module, const PassContext& context) {
    const Graph& graph = module.graph;
    if (context.backends.empty()) return fail(ErrorKind::kInvalidArgument, "no backend to run on");
    std::map<uint32_t, Group> layers;
    std::vector<Group> groups;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        if (node.op == Op::kInput || is_alias(node.op)) continue;
        const uint32_t layer = kv_layer(graph, node);
        if (layer == kNoLayer) {
            groups.push_back({NodeId(i)});
        } else {
            layers[layer].push_back(NodeId(i));
        }
    }
    for (auto& [layer, group] : layers) groups.push_back(std::move(group));

    const std::vector<uint32_t> blocks = blocks_of_nodes(graph);
    std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
    for (const Group& group : groups) {
        INGOT_ASSIGN(const BackendId backend,
                     first_that_supports(graph, group, blocks[group[0].index()], context));
        for (NodeId id : group) nodes[id.index()].backend = backend;
    }
    place_followers(nodes);
    std::vector<std::string> names;
    for (const Backend* backend : context.backends) names.emplace_back(backend->name());
    return Module{Graph(graph.params(), graph.shared_weights(), std::move(nodes),
                        {graph.outputs().begin(), graph.outputs().end()}, std::move(names)),
                  {},
                  {}};
}

}  // namespace ingot::graph
