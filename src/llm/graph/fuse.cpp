#include <algorithm>
#include <optional>

#include "llm/graph/pass.h"
#include "llm/graph/rewrite.h"

namespace ingot::graph {
namespace {

// Finds groups of nodes that one fused node computes. Members have no user outside the group, share a
// backend, and that backend supports the fused node; otherwise the group stays as it is.
class Matcher {
  public:
    Matcher(const Graph& graph, const PassContext& context)
        : graph_(graph), context_(context), uses_(graph) {}

    std::optional<Replacement> glu(NodeId id) const;
    std::optional<Replacement> ffn(NodeId id) const;
    std::optional<Replacement> qkv(NodeId id) const;

  private:
    // A projection on its way to heads: reshape(mat_mul(x)), with an optional norm and RoPE around it.
    struct Head {
        NodeId x, positions;
        WeightId matrix, bias, gain, factors;
        float epsilon = 0.0f;
        const RopeParams* rope = nullptr;
        NodeId first;  // the mat_mul
    };
    const Node& node(NodeId id) const { return graph_[id]; }
    // `id` is an `op` on `backend` with one user.
    bool is_inner(NodeId id, Op op, BackendId backend) const {
        return id.valid() && node(id).op == op && uses_.single(id) && node(id).backend == backend;
    }
    bool supported(const Node& fused) const {
        return context_.backends[fused.backend.index()]->supports_op(graph_, fused).has_value();
    }
    std::optional<Head> head(NodeId id, BackendId backend, bool rotated) const;
    // The rotated q that the only attention over the cells stored by `store` reads.
    std::optional<NodeId> query_of(NodeId store) const;

    const Graph& graph_;
    const PassContext& context_;
    Uses uses_;
};

std::optional<Replacement> Matcher::glu(NodeId id) const {
    const Node& mul = node(id);
    if (mul.op != Op::kMul) return {};
    for (size_t side : {0, 1}) {
        const NodeId activation = mul.inputs[side];
        const bool silu = is_inner(activation, Op::kSilu, mul.backend);
        if (!silu && !is_inner(activation, Op::kGelu, mul.backend)) continue;
        Node fused{silu ? Op::kSwiGLU : Op::kGeGLU,
                   mul.type,
                   mul.shape,
                   {node(activation).inputs[0], mul.inputs[1 - side]},
                   {},
                   NoAttrs{},
                   mul.backend};
        if (supported(fused)) return Replacement{std::move(fused), {id}, id};
    }
    return {};
}

std::optional<Replacement> Matcher::ffn(NodeId id) const {
    const Node& glu = node(id);
    if (glu.op != Op::kSwiGLU && glu.op != Op::kGeGLU) return {};
    const NodeId gate = glu.inputs[0], up = glu.inputs[1];
    for (NodeId projection : {gate, up}) {
        if (!is_inner(projection, Op::kMatMul, glu.backend) || node(projection).weights[1].valid()) return {};
    }
    if (node(gate).inputs[0] != node(up).inputs[0]) return {};
    const FfnAttrs attrs{glu.op == Op::kSwiGLU ? Activation::kSilu : Activation::kGelu};
    Node fused{Op::kFusedFFN,
               glu.type,
               glu.shape,
               {node(gate).inputs[0]},
               {node(gate).weights[0], node(up).weights[0]},
               attrs,
               glu.backend};
    if (!supported(fused)) return {};
    return Replacement{std::move(fused), {id}, id};
}

std::optional<Matcher::Head> Matcher::head(NodeId id, BackendId backend, bool rotated) const {
    Head found;
    if (rotated) {
        if (!is_inner(id, Op::kRoPE, backend)) return {};
        found.rope = &node(id).as<RopeParams>();
        found.factors = node(id).weights[0];
        found.positions = node(id).inputs[1];
        id = node(id).inputs[0];
        if (is_inner(id, Op::kQkNorm, backend)) {
            found.gain = node(id).weights[0];
            found.epsilon = node(id).as<NormAttrs>().epsilon;
            id = node(id).inputs[0];
        }
    }
    if (!is_inner(id, Op::kReshape, backend)) return {};
    id = node(id).inputs[0];
    if (!is_inner(id, Op::kMatMul, backend)) return {};
    found.first = id;
    found.x = node(id).inputs[0];
    found.matrix = node(id).weights[0];
    found.bias = node(id).weights[1];
    return found;
}

std::optional<NodeId> Matcher::query_of(NodeId store) const {
    if (!uses_.single(store)) return {};
    const NodeId load = uses_.of(store)[0];
    if (node(load).op != Op::kKvcacheLoad || !uses_.single(load)) return {};
    const NodeId attention = uses_.of(load)[0];
    return node(attention).inputs[0];
}

std::optional<Replacement> Matcher::qkv(NodeId id) const {
    const Node& store = node(id);
    if (store.op != Op::kKvcacheStore) return {};
    const auto q_value = query_of(id);
    if (!q_value) return {};
    const auto q = head(*q_value, store.backend, true), k = head(store.inputs[0], store.backend, true);
    const auto v = head(store.inputs[1], store.backend, false);
    if (!q || !k || !v || q->x != k->x || q->x != v->x) return {};
    if (*q->rope != *k->rope || q->factors != k->factors || q->positions != k->positions) return {};
    if (q->gain.valid() != k->gain.valid() || q->epsilon != k->epsilon) return {};

    const auto& cells = store.as<KvAttrs>();
    const Shape& shape = node(*q_value).shape;
    Node fused{q->gain.valid() ? Op::kFusedQkvNorm : Op::kFusedQKV,
               DType::kF32,
               shape,
               {q->x, q->positions, store.inputs[2]},
               {q->matrix, k->matrix, v->matrix, q->bias, k->bias, v->bias, q->factors},
               QkvAttrs{cells.layer, shape[1], cells.kv_heads, cells.head_dim, q->epsilon, *q->rope},
               store.backend};
    if (q->gain.valid()) fused.weights.insert(fused.weights.end(), {q->gain, k->gain});
    const NodeId at = std::max(*q_value, id);
    // Nothing may look at the results before the place where both are there.
    const NodeId load = uses_.of(id)[0], attention = uses_.of(*q_value)[0];
    if (std::min(load, attention) < at || !supported(fused)) return {};
    return Replacement{std::move(fused), {*q_value, id}, at};
}

using Match = std::optional<Replacement> (Matcher::*)(NodeId) const;

Graph apply(const Graph& graph, const PassContext& context, Match match) {
    const Matcher matcher(graph, context);
    std::vector<Replacement> replacements;
    for (uint32_t i = 0; i < graph.size(); ++i) {
        if (auto found = (matcher.*match)(NodeId(i))) replacements.push_back(*std::move(found));
    }
    return prune(rewrite(graph, replacements));
}

}  // namespace

Result<Module> fuse(const Module& module, const PassContext& context) {
    Graph graph = prune(module.graph);
    const FuseFlags& flags = graph.params().fuse;
    if (flags.glu) graph = apply(graph, context, &Matcher::glu);
    if (flags.ffn) graph = apply(graph, context, &Matcher::ffn);
    if (flags.qkv) graph = apply(graph, context, &Matcher::qkv);
    return Module{std::move(graph), {}, {}};
}

}  // namespace ingot::graph
