#include "llm/graph/verify.h"

#include <algorithm>
#include <set>

#include "llm/graph/attrs.h"
#include "llm/graph/infer.h"

namespace ingot::graph {
namespace {

constexpr auto kBadGraph = ErrorKind::kInvalidArgument;

// Stores of a layer happen once, and before anything reads the layer.
Result<void> verify_kv_order(const Graph& graph) {
    std::set<uint32_t> stored, loaded;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        if (has_effect(node.op)) {
            const uint32_t layer =
                node.op == Op::kKvcacheStore ? node.as<KvAttrs>().layer : node.as<QkvAttrs>().layer;
            if (!stored.insert(layer).second) return fail(kBadGraph, "%{} stores layer {} again", i, layer);
            if (loaded.contains(layer))
                return fail(kBadGraph, "%{} stores layer {} after it was read", i, layer);
        }
        if (node.op == Op::kKvcacheLoad) loaded.insert(node.as<KvAttrs>().layer);
    }
    return {};
}

Result<void> verify_backends(const Graph& graph) {
    const size_t placed =
        size_t(std::ranges::count_if(graph.nodes(), [](const Node& n) { return n.backend.valid(); }));
    if (placed != 0 && placed != graph.size()) {
        return fail(kBadGraph, "{} of {} nodes have a backend; all or none is accepted", placed,
                    graph.size());
    }
    for (const Node& node : graph.nodes()) {
        if (node.backend.valid() && node.backend.index() >= graph.backends().size()) {
            return fail(kBadGraph, "backend {} of {}", node.backend.index(), graph.backends().size());
        }
    }
    return {};
}

Result<void> verify_splits(const Module& module) {
    const Graph& graph = module.graph;
    uint32_t at = 0;
    std::set<std::pair<NodeId, BackendId>> copied;
    for (const Split& split : *module.splits) {
        if (split.first != at || split.end <= split.first) {
            return fail(kBadGraph, "split [{}, {}) follows node {}", split.first, split.end, at);
        }
        at = split.end;
        for (NodeId id : split.copies) copied.emplace(id, split.backend);
        for (uint32_t i = split.first; i < split.end; ++i) {
            const Node& node = graph[NodeId(i)];
            if (node.op == Op::kInput || is_alias(node.op)) continue;
            if (node.backend != split.backend)
                return fail(kBadGraph, "%{} is in a split of another backend", i);
            for (NodeId in : node.inputs) {
                if (!in.valid() || graph[in].backend == split.backend || copied.contains({in, split.backend}))
                    continue;
                return fail(kBadGraph, "%{} reads %{} of another backend, which was not copied", i,
                            in.index());
            }
        }
    }
    if (at != graph.size()) return fail(kBadGraph, "the splits end at node {} of {}", at, graph.size());
    return {};
}

// Replays execution: every slot remembers which value it holds, and every read must find the value it wants.
class Replay {
  public:
    explicit Replay(const Module& module)
        : graph_(module.graph), plan_(*module.allocation), module_(module) {}

    Result<void> run() {
        if (plan_.values.size() != graph_.size())
            return fail(kBadGraph, "{} values planned, {} built", plan_.values.size(), graph_.size());
        holds_.assign(plan_.slots.size(), NodeId());
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            if (graph_[NodeId(i)].op == Op::kInput) INGOT_TRY(write(NodeId(i)));
        }
        for (const Split& split : *module_.splits) {
            for (NodeId id : split.copies) INGOT_TRY(copy(id, split.backend));
            for (uint32_t i = split.first; i < split.end; ++i) INGOT_TRY(step(NodeId(i)));
        }
        for (NodeId id : graph_.outputs()) INGOT_TRY(read(id, graph_[id].backend));
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            if (graph_[NodeId(i)].op == Op::kInput) INGOT_TRY(read(NodeId(i), graph_[NodeId(i)].backend));
        }
        return {};
    }

  private:
    // The value whose memory `id` shows.
    NodeId root(NodeId id) const {
        while (is_alias(graph_[id].op)) id = graph_[id].inputs[0];
        return id;
    }

    Result<void> step(NodeId id) {
        const Node& node = graph_[id];
        if (node.op == Op::kInput) return {};
        for (NodeId in : node.inputs) {
            if (in.valid()) INGOT_TRY(read(in, is_alias(node.op) ? graph_[in].backend : node.backend));
        }
        if (node.type == DType::kKv || is_alias(node.op)) return {};
        return write(id);
    }

    Result<void> copy(NodeId id, BackendId to) {
        INGOT_TRY(read(id, graph_[id].backend));
        const auto found = plan_.copies.find({id, to});
        if (found == plan_.copies.end()) return fail(kBadGraph, "the copy of %{} has no memory", id.index());
        holds_[found->second.index()] = id;
        return {};
    }

    Result<void> read(NodeId id, BackendId where) const {
        if (graph_[id].type == DType::kKv) return {};
        const bool remote = graph_[id].backend != where;
        const NodeId wanted = remote ? id : root(id);
        const SlotId slot = remote ? plan_.copies.at({id, where}) : plan_.values[id.index()].slot;
        if (!slot.valid() || holds_[slot.index()] != wanted) {
            return fail(kBadGraph, "%{} is read after its memory was given away", id.index());
        }
        const Slot& memory = plan_.slots[slot.index()];
        const ValuePlan& value = plan_.values[id.index()];
        if (memory.backend != where) return fail(kBadGraph, "%{} lies on another backend", id.index());
        const size_t end = (remote ? 0 : value.offset_bytes) + value.length * 4;
        if (value.length != graph_[id].shape.count() || end > memory.size_bytes) {
            return fail(kBadGraph, "%{}: {} elements in a slot of {} bytes", id.index(), value.length,
                        memory.size_bytes);
        }
        return {};
    }

    Result<void> write(NodeId id) {
        const SlotId slot = plan_.values[id.index()].slot;
        if (!slot.valid() || slot.index() >= plan_.slots.size())
            return fail(kBadGraph, "%{} has no memory", id.index());
        holds_[slot.index()] = id;
        return read(id, graph_[id].backend);
    }

    const Graph& graph_;
    const Allocation& plan_;
    const Module& module_;
    std::vector<NodeId> holds_;
};

}  // namespace

Result<void> verify(const Graph& graph) {
    std::set<std::string> input_names;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        const auto in_context = [&](Error error) {
            return Failure(with_context(std::move(error), fmt::format("%{} {}", i, to_string(node.op))));
        };
        if (node.attrs.index() != default_attrs(node.op).index())
            return in_context({kBadGraph, "attributes of another op", {}});
        const Result<ValueType> value = infer(graph.nodes().first(i), graph.weights(), node);
        if (!value) return in_context(value.error());
        if (*value != ValueType{node.type, node.shape}) {
            return in_context({kBadGraph,
                               fmt::format("declared as {} {}, yields {} {}", kDTypeNames[size_t(node.type)],
                                           to_string(node.shape), kDTypeNames[size_t(value->type)],
                                           to_string(value->shape)),
                               {}});
        }
        if (node.op == Op::kInput && !input_names.insert(node.as<InputAttrs>().name).second) {
            return in_context(
                {kBadGraph, fmt::format("input '{}' exists already", node.as<InputAttrs>().name), {}});
        }
    }
    for (NodeId id : graph.outputs()) {
        if (!id.valid() || id.index() >= graph.size() || graph[id].type != DType::kF32) {
            return fail(kBadGraph, "output %{} is not an f32 value of the graph", id.index());
        }
    }
    INGOT_TRY(verify_kv_order(graph));
    return verify_backends(graph);
}

Result<void> verify(const Module& module) {
    INGOT_TRY(verify(module.graph));
    if (module.splits) INGOT_TRY(verify_splits(module));
    if (module.allocation) INGOT_TRY(Replay(module).run());
    return {};
}

}  // namespace ingot::graph
