#include "llm/graph/builder.h"

#include "llm/graph/infer.h"

namespace ingot::graph {

GraphBuilder::GraphBuilder(const GraphParams& params, std::shared_ptr<const WeightTable> weights)
    : params_(params), weights_(std::move(weights)) {}

Shape GraphBuilder::shape(NodeId id) const {
    return id.valid() && !error_ ? nodes_[id.index()].shape : Shape{};
}

WeightId GraphBuilder::weight(std::string_view name) {
    const WeightId id = weights_->find(name);
    if (!id.valid()) fail({ErrorKind::kNotFound, fmt::format("tensor '{}' is missing", name), {}});
    return id;
}

NodeId GraphBuilder::append(Op op, std::vector<NodeId> inputs, std::vector<WeightId> weights, Attrs attrs,
                            const Shape& declared) {
    if (error_) return {};
    Node node{op, DType::kF32, declared, std::move(inputs), std::move(weights), std::move(attrs), {}};
    const NodeId id(uint32_t(nodes_.size()));
    Result<ValueType> value = infer(nodes_, *weights_, node);
    nodes_.push_back(std::move(node));
    if (!value) {
        const Graph so_far(params_, weights_, std::move(nodes_), {});
        error_ = with_context(value.error(), so_far.label(id));
        return {};
    }
    nodes_.back().type = value->type;
    nodes_.back().shape = value->shape;
    return id;
}

NodeId GraphBuilder::standard_input(std::string_view name, uint32_t count) {
    const auto found = inputs_by_name_.find(name);
    return found != inputs_by_name_.end() ? found->second : input(name, DType::kI32, {count});
}

NodeId GraphBuilder::tokens() {
    return standard_input(inputs::kTokens, params_.tokens);
}
NodeId GraphBuilder::positions() {
    return standard_input(inputs::kPositions, params_.tokens);
}
NodeId GraphBuilder::cells() {
    return standard_input(inputs::kCells, params_.tokens);
}
NodeId GraphBuilder::outputs() {
    return standard_input(inputs::kOutputs, params_.outputs);
}

NodeId GraphBuilder::window() {
    switch (params_.window) {
        case WindowMode::kCausal:
            return positions();
        case WindowMode::kSpan:
            return standard_input(inputs::kSpan, 2 * params_.tokens);
        case WindowMode::kMap:
            return standard_input(inputs::kMap, params_.tokens * kMaxMapRuns * 2);
    }
    return {};
}

NodeId GraphBuilder::input(std::string_view name, DType type, const Shape& shape) {
    if (error_) return {};
    if (inputs_by_name_.contains(name)) {
        fail({ErrorKind::kInvalidArgument, fmt::format("input '{}' is made twice", name), {}});
        return {};
    }
    NodeId id(uint32_t(nodes_.size()));
    nodes_.push_back({Op::kInput, type, shape, {}, {}, InputAttrs{std::string(name)}, {}});
    if (const Result<ValueType> value = infer(nodes_, *weights_, nodes_.back()); !value) {
        fail(with_context(value.error(), fmt::format("%{} input '{}'", id.index(), name)));
        return {};
    }
    inputs_by_name_.emplace(name, id);
    return id;
}

NodeId GraphBuilder::add(NodeId a, NodeId b) {
    return append(Op::kAdd, {a, b});
}
NodeId GraphBuilder::mul(NodeId a, NodeId b) {
    return append(Op::kMul, {a, b});
}
NodeId GraphBuilder::scale(NodeId x, float factor) {
    return append(Op::kScale, {x}, {}, ScaleAttrs{factor});
}
NodeId GraphBuilder::silu(NodeId x) {
    return append(Op::kSilu, {x});
}
NodeId GraphBuilder::gelu(NodeId x) {
    return append(Op::kGelu, {x});
}
NodeId GraphBuilder::softmax(NodeId x) {
    return append(Op::kSoftmax, {x});
}

NodeId GraphBuilder::rms_norm(NodeId x, WeightId gain, float epsilon) {
    return append(Op::kRmsNorm, {x}, {gain}, NormAttrs{epsilon});
}
NodeId GraphBuilder::qk_norm(NodeId x, WeightId gain, float epsilon) {
    return append(Op::kQkNorm, {x}, {gain}, NormAttrs{epsilon});
}
NodeId GraphBuilder::mat_mul(WeightId matrix, NodeId x, WeightId bias) {
    return append(Op::kMatMul, {x}, {matrix, bias});
}
NodeId GraphBuilder::get_rows(WeightId table, NodeId rows) {
    return append(Op::kGetRows, {rows, NodeId()}, {table});
}
NodeId GraphBuilder::get_rows(NodeId x, NodeId rows) {
    return append(Op::kGetRows, {rows, x}, {WeightId()});
}
NodeId GraphBuilder::rope(NodeId x, NodeId positions, const RopeParams& params, WeightId factors) {
    return append(Op::kRoPE, {x, positions}, {factors}, params);
}

NodeId GraphBuilder::kv_store(uint32_t layer, NodeId k, NodeId v) {
    if (store_of_layer_.contains(layer) || load_of_layer_.contains(layer)) {
        fail({ErrorKind::kInvalidArgument,
              fmt::format(
                  "layer {} is stored twice, or after it was read; one store before every read is accepted",
                  layer),
              {}});
    }
    const Shape s = shape(k);
    const NodeId id = append(Op::kKvcacheStore, {k, v, cells()}, {},
                             KvAttrs{layer, s.rank == 3 ? s[1] : 0, s.rank == 3 ? s[2] : 0});
    store_of_layer_[layer] = id;
    return id;
}

NodeId GraphBuilder::attention(NodeId q, uint32_t layer, const AttnParams& params) {
    NodeId& load = load_of_layer_[layer];
    if (!load.valid()) {
        const auto store = store_of_layer_.find(layer);
        const NodeId after = store == store_of_layer_.end() ? NodeId() : store->second;
        load = append(Op::kKvcacheLoad, {after}, {}, KvAttrs{layer, params.kv_heads, params.head_dim});
    }
    return append(Op::kAttn, {q, load, window()}, {}, params);
}

NodeId GraphBuilder::view(NodeId x, uint32_t first_row, uint32_t rows) {
    Shape s = shape(x);
    s.dims[0] = rows;
    return append(Op::kView, {x}, {}, ViewAttrs{first_row}, s);
}
NodeId GraphBuilder::reshape(NodeId x, const Shape& to) {
    return append(Op::kReshape, {x}, {}, NoAttrs{}, to);
}
NodeId GraphBuilder::permute(NodeId x, std::array<uint32_t, 3> axes) {
    return append(Op::kPermute, {x}, {}, PermuteAttrs{axes});
}
NodeId GraphBuilder::swiglu(NodeId gate, NodeId up) {
    return append(Op::kSwiGLU, {gate, up});
}
NodeId GraphBuilder::geglu(NodeId gate, NodeId up) {
    return append(Op::kGeGLU, {gate, up});
}

NodeId GraphBuilder::split_heads(NodeId x, uint32_t heads, uint32_t head_dim) {
    return reshape(x, {shape(x).rows(), heads, head_dim});
}
NodeId GraphBuilder::merge_heads(NodeId x) {
    const Shape s = shape(x);
    return reshape(x, {s.rows(), uint32_t(s.rows() == 0 ? 0 : s.count() / s.rows())});
}

void GraphBuilder::output(NodeId x) {
    if (x.valid()) outputs_.push_back(x);
}

void GraphBuilder::fail(Error error) {
    if (!error_) error_ = std::move(error);
}

Result<Graph> GraphBuilder::finish() && {
    if (error_) return Failure(*std::move(error_));
    return Graph(params_, std::move(weights_), std::move(nodes_), std::move(outputs_));
}

}  // namespace ingot::graph
