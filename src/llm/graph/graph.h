// The compute graph: immutable nodes in an arena, in build order, which is also execution order. A node
// yields one value, so NodeId names both. Made by GraphBuilder (builder.h) or parsed from text (text.h);
// changed only by passes, which make a new graph (pass.h). It knows neither memory nor backends beyond the
// name a pass put on a node.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "llm/graph/op.h"
#include "llm/graph/params.h"
#include "llm/graph/rope.h"
#include "llm/graph/weights.h"

namespace ingot::graph {

using NodeId = Id<struct NodeTag>;
using BackendId = Id<struct BackendTag>;  // index into the list of backends that a graph is compiled for

enum class DType : uint8_t {
    kF32,
    kI32,
    kKv,  // the K and V regions of a layer, [kv_heads, head_dim] a cell; persistent, not a buffer of the
          // graph
};

// Up to three dimensions, the last contiguous: [tokens, width] or [tokens, heads, head_dim].
struct Shape {
    std::array<uint32_t, 3> dims{};
    uint8_t rank = 0;

    Shape() = default;
    Shape(std::initializer_list<uint32_t> list);
    uint32_t operator[](size_t i) const { return dims[i]; }
    uint32_t rows() const { return rank == 0 ? 0 : dims[0]; }
    uint32_t last() const { return rank == 0 ? 0 : dims[rank - 1]; }
    uint64_t count() const;
    bool operator==(const Shape&) const = default;
};
std::string to_string(const Shape& shape);  // "[4, 9, 64]"

enum class Activation : uint8_t { kSilu, kGelu };

struct NoAttrs {
    bool operator==(const NoAttrs&) const = default;
};
struct InputAttrs {
    std::string name;
    bool operator==(const InputAttrs&) const = default;
};
struct ScaleAttrs {
    float factor = 1.0f;
    bool operator==(const ScaleAttrs&) const = default;
};
struct NormAttrs {
    float epsilon = 0.0f;
    bool operator==(const NormAttrs&) const = default;
};
struct AttnParams {
    uint32_t heads = 0, kv_heads = 0, head_dim = 0;
    float scale = 0.0f;    // multiplies q k^T; usually 1 / sqrt(head_dim)
    uint32_t window = 0;   // only the last `window` cells of a row's window count (its own included); 0: all
    float softcap = 0.0f;  // scores become softcap * tanh(score / softcap); 0: off
    bool operator==(const AttnParams&) const = default;
};
struct KvAttrs {
    uint32_t layer = 0;
    uint32_t kv_heads = 0, head_dim = 0;
    bool operator==(const KvAttrs&) const = default;
};
struct ViewAttrs {
    uint32_t first_row = 0;
    bool operator==(const ViewAttrs&) const = default;
};
struct PermuteAttrs {
    std::array<uint32_t, 3> axes{0, 1, 2};
    bool operator==(const PermuteAttrs&) const = default;
};
struct QkvAttrs {
    uint32_t layer = 0;
    uint32_t heads = 0, kv_heads = 0, head_dim = 0;
    float epsilon = 0.0f;  // of the head norms; FusedQkvNorm only
    RopeParams rope;
    bool operator==(const QkvAttrs&) const = default;
};
struct FfnAttrs {
    Activation activation = Activation::kSilu;
    bool operator==(const FfnAttrs&) const = default;
};
using Attrs = std::variant<NoAttrs, InputAttrs, ScaleAttrs, NormAttrs, RopeParams, AttnParams, KvAttrs,
                           ViewAttrs, PermuteAttrs, QkvAttrs, FfnAttrs>;

// Names of the inputs that GraphBuilder makes and the executor's caller fills.
namespace inputs {
inline constexpr std::string_view kTokens = "tokens";        // i32 [tokens], vocabulary ids
inline constexpr std::string_view kPositions = "positions";  // i32 [tokens]
inline constexpr std::string_view kCells = "cells";      // i32 [tokens], KV cells that the rows are stored in
inline constexpr std::string_view kOutputs = "outputs";  // i32 [outputs], rows whose logits are wanted
inline constexpr std::string_view kSpan = "span";        // see WindowMode
inline constexpr std::string_view kMap = "map";          // see WindowMode
}  // namespace inputs

struct Node {
    Op op = Op::kInput;
    DType type = DType::kF32;
    Shape shape;
    // One entry per role of the op; an absent optional operand is an invalid id.
    std::vector<NodeId> inputs;
    std::vector<WeightId> weights;
    Attrs attrs;
    BackendId backend;  // invalid until the assign pass

    template <typename T>
    const T& as() const {
        return std::get<T>(attrs);
    }
    bool operator==(const Node&) const = default;
};

class Graph {
  public:
    // Passes and the parser use this; model code goes through GraphBuilder. Nothing is checked here
    // (verify.h).
    Graph(GraphParams params, std::shared_ptr<const WeightTable> weights, std::vector<Node> nodes,
          std::vector<NodeId> outputs, std::vector<std::string> backends = {})
        : params_(params),
          weights_(std::move(weights)),
          nodes_(std::move(nodes)),
          outputs_(std::move(outputs)),
          backends_(std::move(backends)) {}

    const GraphParams& params() const { return params_; }
    const WeightTable& weights() const { return *weights_; }
    const std::shared_ptr<const WeightTable>& shared_weights() const { return weights_; }
    std::span<const Node> nodes() const { return nodes_; }
    std::span<const NodeId> outputs() const { return outputs_; }  // values the caller reads after execution
    // Names of the backends that the nodes' BackendId stand for; empty before the assign pass.
    std::span<const std::string> backends() const { return backends_; }
    size_t size() const { return nodes_.size(); }
    const Node& operator[](NodeId id) const { return nodes_[id.index()]; }

    bool is_output(NodeId id) const;
    // "%7 mat_mul 'blk.0.attn_q.weight'": how messages and traces name a node.
    std::string label(NodeId id) const;

  private:
    GraphParams params_;
    std::shared_ptr<const WeightTable> weights_;
    std::vector<Node> nodes_;
    std::vector<NodeId> outputs_;
    std::vector<std::string> backends_;
};

}  // namespace ingot::graph
