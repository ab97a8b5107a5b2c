// The one place that says which operands an op accepts and what it yields. The builder, the parser and the
// verifier all ask here.
#pragma once

#include "llm/graph/graph.h"

namespace ingot::graph {

struct ValueType {
    DType type = DType::kF32;
    Shape shape;
    bool operator==(const ValueType&) const = default;
};

// The type and shape of `node`, which needs not be in `nodes` yet; its inputs must be. Input, View and
// Reshape can't be derived from operands alone: they keep node.shape, after it is checked. An Error says what
// was observed and what is accepted, without naming the node.
Result<ValueType> infer(std::span<const Node> nodes, const WeightTable& weights, const Node& node);

}  // namespace ingot::graph
