#include "llm/graph/infer.h"

#include <cmath>

namespace ingot::graph {
namespace {

constexpr auto kBadNode = ErrorKind::kInvalidArgument;

// Everything a rule looks at: one node with its operands resolved.
class Rule {
  public:
    Rule(std::span<const Node> nodes, const WeightTable& weights, const Node& node)
        : nodes_(nodes), weights_(weights), node_(node) {}

    Result<ValueType> run() const;

  private:
    bool has_input(size_t role) const { return node_.inputs[role].valid(); }
    bool has_weight(size_t role) const { return node_.weights[role].valid(); }
    const Node& in(size_t role) const { return nodes_[node_.inputs[role].index()]; }
    const Weight& weight(size_t role) const { return weights_[node_.weights[role]]; }

    Result<void> operands() const;
    Result<void> is_f32(size_t role, uint8_t min_rank = 1, uint8_t max_rank = 3) const;
    Result<void> is_index(size_t role, uint32_t count) const;
    Result<void> is_vector(size_t role, uint32_t length) const;
    Result<void> is_matrix(size_t role, uint32_t rows, uint32_t cols) const;
    Result<void> rotates(const RopeParams& rope, uint32_t head_dim, size_t factors_role) const;

    Result<ValueType> same_as_first() const;
    Result<ValueType> elementwise_pair() const;
    Result<ValueType> norm(uint8_t rank) const;
    Result<ValueType> mat_mul() const;
    Result<ValueType> get_rows() const;
    Result<ValueType> rope() const;
    Result<ValueType> attn() const;
    Result<ValueType> store() const;
    Result<ValueType> load() const;
    Result<ValueType> declared() const;
    Result<ValueType> permute() const;
    Result<ValueType> fused_qkv() const;
    Result<ValueType> fused_ffn() const;

    std::span<const Node> nodes_;
    const WeightTable& weights_;
    const Node& node_;
};

Result<void> Rule::operands() const {
    const OpTraits& op = traits(node_.op);
    if (node_.inputs.size() != op.inputs.size || node_.weights.size() != op.weights.size) {
        return fail(kBadNode, "{} inputs and {} weights, {} and {} expected", node_.inputs.size(),
                    node_.weights.size(), op.inputs.size, op.weights.size);
    }
    for (size_t i = 0; i < op.inputs.size; ++i) {
        const NodeId id = node_.inputs[i];
        if (!id.valid() && !op.inputs[i].optional)
            return fail(kBadNode, "input '{}' is missing", op.inputs[i].name);
        if (id.valid() && id.index() >= nodes_.size()) {
            return fail(kBadNode, "input '{}' is %{}, which is not built yet", op.inputs[i].name, id.index());
        }
    }
    for (size_t i = 0; i < op.weights.size; ++i) {
        const WeightId id = node_.weights[i];
        if (!id.valid() && !op.weights[i].optional)
            return fail(kBadNode, "weight '{}' is missing", op.weights[i].name);
        if (id.valid() && id.index() >= weights_.size()) {
            return fail(kBadNode, "weight '{}' is number {} of {}", op.weights[i].name, id.index(),
                        weights_.size());
        }
    }
    return {};
}

Result<void> Rule::is_f32(size_t role, uint8_t min_rank, uint8_t max_rank) const {
    const Node& x = in(role);
    const std::string_view name = traits(node_.op).inputs[role].name;
    if (x.type != DType::kF32) return fail(kBadNode, "'{}' is not f32 data; f32 is accepted", name);
    if (x.shape.rank < min_rank || x.shape.rank > max_rank) {
        return fail(kBadNode, "'{}' is {}; {} to {} dimensions are accepted", name, to_string(x.shape),
                    min_rank, max_rank);
    }
    return {};
}

Result<void> Rule::is_index(size_t role, uint32_t count) const {
    const Node& x = in(role);
    if (x.type != DType::kI32 || x.shape != Shape{count}) {
        return fail(kBadNode, "'{}' is {} {}; i32 [{}] is accepted", traits(node_.op).inputs[role].name,
                    x.type == DType::kI32 ? "i32" : "non-integer", to_string(x.shape), count);
    }
    return {};
}

Result<void> Rule::is_vector(size_t role, uint32_t length) const {
    const Weight& w = weight(role);
    if (w.rows != 1 || w.cols != length || w.type != QuantType::kF32) {
        return fail(kBadNode, "'{}' is {} {} x {}; F32 1 x {} is accepted", w.name,
                    ingot::traits(w.type).name, w.rows, w.cols, length);
    }
    return {};
}

Result<void> Rule::is_matrix(size_t role, uint32_t rows, uint32_t cols) const {
    const Weight& w = weight(role);
    if (w.cols != cols)
        return fail(kBadNode, "'{}' has rows of {} elements; {} are accepted", w.name, w.cols, cols);
    if (rows != 0 && w.rows != rows)
        return fail(kBadNode, "'{}' has {} rows; {} are accepted", w.name, w.rows, rows);
    return {};
}

Result<ValueType> Rule::same_as_first() const {
    INGOT_TRY(is_f32(0));
    return ValueType{DType::kF32, in(0).shape};
}

Result<ValueType> Rule::elementwise_pair() const {
    INGOT_TRY(is_f32(0));
    INGOT_TRY(is_f32(1));
    if (in(0).shape != in(1).shape) {
        return fail(kBadNode, "operands are {} and {}; equal shapes are accepted", to_string(in(0).shape),
                    to_string(in(1).shape));
    }
    return ValueType{DType::kF32, in(0).shape};
}

Result<ValueType> Rule::norm(uint8_t rank) const {
    INGOT_TRY(is_f32(0, rank, rank));
    INGOT_TRY(is_vector(0, in(0).shape.last()));
    const float epsilon = node_.as<NormAttrs>().epsilon;
    if (!(epsilon >= 0.0f) || !std::isfinite(epsilon))
        return fail(kBadNode, "epsilon is {}; 0 or more is accepted", epsilon);
    return ValueType{DType::kF32, in(0).shape};
}

Result<ValueType> Rule::mat_mul() const {
    INGOT_TRY(is_f32(0, 2, 2));
    INGOT_TRY(is_matrix(0, 0, in(0).shape[1]));
    if (has_weight(1)) INGOT_TRY(is_vector(1, weight(0).rows));
    return ValueType{DType::kF32, {in(0).shape[0], weight(0).rows}};
}

Result<ValueType> Rule::get_rows() const {
    INGOT_TRY(is_index(0, in(0).shape.rows()));
    const uint32_t rows = in(0).shape[0];
    if (has_input(1) == has_weight(0))
        return fail(kBadNode, "needs either the input 'x' or the weight 'table'");
    if (has_weight(0)) return ValueType{DType::kF32, {rows, weight(0).cols}};
    INGOT_TRY(is_f32(1, 2, 2));
    return ValueType{DType::kF32, {rows, in(1).shape[1]}};
}

Result<void> Rule::rotates(const RopeParams& p, uint32_t head_dim, size_t factors_role) const {
    if (p.dims == 0 || p.dims % 2 != 0 || p.dims > head_dim) {
        return fail(kBadNode,
                    "rope rotates {} elements; an even number from 2 to the head size {} is accepted", p.dims,
                    head_dim);
    }
    if (!(p.base > 1.0f)) return fail(kBadNode, "rope base is {}; more than 1 is accepted", p.base);
    if (!(p.factor > 0.0f))
        return fail(kBadNode, "rope scaling factor is {}; more than 0 is accepted", p.factor);
    if (p.scaling == RopeScaling::kYarn && p.original_context == 0) {
        return fail(kBadNode, "yarn scaling without the original context length");
    }
    if (has_weight(factors_role)) INGOT_TRY(is_vector(factors_role, p.dims / 2));
    return {};
}

Result<ValueType> Rule::rope() const {
    INGOT_TRY(is_f32(0, 3, 3));
    INGOT_TRY(is_index(1, in(0).shape[0]));
    INGOT_TRY(rotates(node_.as<RopeParams>(), in(0).shape[2], 0));
    return ValueType{DType::kF32, in(0).shape};
}

Result<ValueType> Rule::attn() const {
    INGOT_TRY(is_f32(0, 3, 3));
    const auto& p = node_.as<AttnParams>();
    const Shape& q = in(0).shape;
    if (q[1] != p.heads || q[2] != p.head_dim) {
        return fail(kBadNode, "q is {}; [tokens, {}, {}] is accepted", to_string(q), p.heads, p.head_dim);
    }
    if (p.kv_heads == 0 || p.heads % p.kv_heads != 0) {
        return fail(kBadNode, "{} query heads over {} KV heads; a whole multiple is accepted", p.heads,
                    p.kv_heads);
    }
    if (in(1).type != DType::kKv || in(1).shape != Shape{p.kv_heads, p.head_dim}) {
        return fail(kBadNode, "the KV cells are {}; [{}, {}] is accepted", to_string(in(1).shape), p.kv_heads,
                    p.head_dim);
    }
    const uint32_t nt = q[0], given = in(2).shape.rows();
    if (in(2).type != DType::kI32 || in(2).shape.rank != 1 ||
        (given != nt && given != 2 * nt && given != nt * kMaxMapRuns * 2)) {
        return fail(kBadNode, "'window' is {}; i32 [{}] (causal), [{}] (span) or [{}] (map) is accepted",
                    to_string(in(2).shape), nt, 2 * nt, nt * kMaxMapRuns * 2);
    }
    if (!(p.scale > 0.0f)) return fail(kBadNode, "scale is {}; more than 0 is accepted", p.scale);
    return ValueType{DType::kF32, {nt, p.heads * p.head_dim}};
}

Result<ValueType> Rule::store() const {
    INGOT_TRY(is_f32(0, 3, 3));
    INGOT_TRY(is_f32(1, 3, 3));
    const auto& p = node_.as<KvAttrs>();
    const Shape expected{in(0).shape[0], p.kv_heads, p.head_dim};
    for (size_t role : {0, 1}) {
        if (in(role).shape != expected) {
            return fail(kBadNode, "'{}' is {}; {} is accepted", traits(node_.op).inputs[role].name,
                        to_string(in(role).shape), to_string(expected));
        }
    }
    INGOT_TRY(is_index(2, expected[0]));
    return ValueType{DType::kKv, {p.kv_heads, p.head_dim}};
}

Result<ValueType> Rule::load() const {
    const auto& p = node_.as<KvAttrs>();
    if (p.kv_heads == 0 || p.head_dim == 0)
        return fail(kBadNode, "{} KV heads of {}", p.kv_heads, p.head_dim);
    if (has_input(0)) {
        const Node& after = in(0);
        uint32_t layer = p.layer;
        Shape stored = after.shape;
        if (after.op == Op::kKvcacheStore) {
            layer = after.as<KvAttrs>().layer;
        } else if (has_effect(after.op)) {
            const auto& qkv = after.as<QkvAttrs>();
            layer = qkv.layer;
            stored = {qkv.kv_heads, qkv.head_dim};
        } else {
            return fail(kBadNode, "'after' is {}; an op that stores K and V is accepted",
                        to_string(after.op));
        }
        if (layer != p.layer || stored != Shape{p.kv_heads, p.head_dim}) {
            return fail(kBadNode, "layer {} stores {}; layer {} with [{}, {}] is accepted", layer,
                        to_string(stored), p.layer, p.kv_heads, p.head_dim);
        }
    }
    return ValueType{DType::kKv, {p.kv_heads, p.head_dim}};
}

Result<ValueType> Rule::declared() const {
    if (node_.op == Op::kInput) {
        if (node_.shape.count() == 0)
            return fail(kBadNode, "an input of shape {}; no dimension may be 0", to_string(node_.shape));
        if (node_.type == DType::kKv) return fail(kBadNode, "KV regions are not inputs");
        return ValueType{node_.type, node_.shape};
    }
    const Shape& from = in(0).shape;
    if (in(0).type == DType::kKv) return fail(kBadNode, "KV regions have no views");
    if (node_.op == Op::kReshape) {
        if (node_.shape.count() != from.count()) {
            return fail(kBadNode, "{} elements can't become {}", to_string(from), to_string(node_.shape));
        }
    } else {
        const uint64_t end = uint64_t(node_.as<ViewAttrs>().first_row) + node_.shape.rows();
        Shape expected = from;
        expected.dims[0] = node_.shape.rows();
        if (node_.shape != expected || end > from.rows() || node_.shape.rows() == 0) {
            return fail(kBadNode, "rows {} to {} of {} as {}; rows inside it are accepted",
                        node_.as<ViewAttrs>().first_row, end, to_string(from), to_string(node_.shape));
        }
    }
    return ValueType{in(0).type, node_.shape};
}

Result<ValueType> Rule::permute() const {
    INGOT_TRY(is_f32(0, 3, 3));
    Shape out = in(0).shape;
    uint32_t seen = 0;
    const auto& axes = node_.as<PermuteAttrs>().axes;
    for (size_t i = 0; i < 3; ++i) {
        if (axes[i] > 2) return fail(kBadNode, "axis {}; 0, 1 and 2 are accepted", axes[i]);
        seen |= 1u << axes[i];
        out.dims[i] = in(0).shape[axes[i]];
    }
    if (seen != 7)
        return fail(kBadNode, "axes {} {} {}; each of 0, 1 and 2 once is accepted", axes[0], axes[1],
                    axes[2]);
    return ValueType{DType::kF32, out};
}

Result<ValueType> Rule::fused_qkv() const {
    INGOT_TRY(is_f32(0, 2, 2));
    const auto& p = node_.as<QkvAttrs>();
    const uint32_t nt = in(0).shape[0], width = in(0).shape[1];
    INGOT_TRY(is_index(1, nt));
    INGOT_TRY(is_index(2, nt));
    const uint32_t rows[] = {p.heads * p.head_dim, p.kv_heads * p.head_dim, p.kv_heads * p.head_dim};
    for (size_t i = 0; i < 3; ++i) {
        INGOT_TRY(is_matrix(i, rows[i], width));
        if (has_weight(3 + i)) INGOT_TRY(is_vector(3 + i, rows[i]));
    }
    INGOT_TRY(rotates(p.rope, p.head_dim, 6));
    if (node_.op == Op::kFusedQkvNorm) {
        INGOT_TRY(is_vector(7, p.head_dim));
        INGOT_TRY(is_vector(8, p.head_dim));
    }
    return ValueType{DType::kF32, {nt, p.heads, p.head_dim}};
}

Result<ValueType> Rule::fused_ffn() const {
    INGOT_TRY(is_f32(0, 2, 2));
    INGOT_TRY(is_matrix(0, 0, in(0).shape[1]));
    INGOT_TRY(is_matrix(1, weight(0).rows, in(0).shape[1]));
    return ValueType{DType::kF32, {in(0).shape[0], weight(0).rows}};
}

Result<ValueType> Rule::run() const {
    INGOT_TRY(operands());
    switch (node_.op) {
        case Op::kInput:
        case Op::kView:
        case Op::kReshape:
            return declared();
        case Op::kAdd:
        case Op::kMul:
        case Op::kSwiGLU:
        case Op::kGeGLU:
            return elementwise_pair();
        case Op::kScale:
        case Op::kSilu:
        case Op::kGelu:
        case Op::kSoftmax:
            return same_as_first();
        case Op::kRmsNorm:
            return norm(2);
        case Op::kQkNorm:
            return norm(3);
        case Op::kMatMul:
            return mat_mul();
        case Op::kGetRows:
            return get_rows();
        case Op::kRoPE:
            return rope();
        case Op::kAttn:
            return attn();
        case Op::kKvcacheStore:
            return store();
        case Op::kKvcacheLoad:
            return load();
        case Op::kPermute:
            return permute();
        case Op::kFusedQKV:
        case Op::kFusedQkvNorm:
            return fused_qkv();
        case Op::kFusedFFN:
            return fused_ffn();
    }
    return fail(kBadNode, "unknown op {}", int(node_.op));
}

}  // namespace

Result<ValueType> infer(std::span<const Node> nodes, const WeightTable& weights, const Node& node) {
    return Rule(nodes, weights, node).run();
}

}  // namespace ingot::graph
