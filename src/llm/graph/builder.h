// What architectures (llm/model) write graphs with. Each call checks shapes at once. The first mistake is
// kept and every later call returns an invalid id, so model code reads straight through and finish() returns
// the Error, which names the node, what was observed and what would be accepted.
//
//   GraphBuilder b(params, weights);
//   NodeId x = b.get_rows(b.weight("token_embd.weight"), b.tokens());
//   NodeId h = b.rms_norm(x, b.weight("blk.0.attn_norm.weight"), 1e-5f);
//   NodeId q = b.split_heads(b.mat_mul(b.weight("blk.0.attn_q.weight"), h), 9, 64);
//   ...
//   b.output(logits);
//   return std::move(b).finish();
#pragma once

#include <map>
#include <string_view>

#include "llm/graph/graph.h"

namespace ingot::graph {

class GraphBuilder {
  public:
    GraphBuilder(const GraphParams& params, std::shared_ptr<const WeightTable> weights);

    const GraphParams& params() const { return params_; }
    // The shape of a node built so far, by value since nodes move when one is added; an empty one for an
    // invalid id.
    Shape shape(NodeId id) const;

    // A missing weight is an error that names it; optional_weight gives an invalid id instead, which is
    // accepted wherever the op table marks the role with '?' (bias, factors).
    WeightId weight(std::string_view name);
    WeightId optional_weight(std::string_view name) const { return weights_->find(name); }

    // The inputs that params imply, each made once, on first use.
    NodeId tokens();
    NodeId positions();
    NodeId cells();
    NodeId outputs();
    NodeId window();  // positions, span or map, by params.window
    // Any other host data. The same name twice is an error.
    NodeId input(std::string_view name, DType type, const Shape& shape);

    NodeId add(NodeId a, NodeId b);
    NodeId mul(NodeId a, NodeId b);
    NodeId scale(NodeId x, float factor);
    NodeId silu(NodeId x);
    NodeId gelu(NodeId x);
    NodeId softmax(NodeId x);
    NodeId rms_norm(NodeId x, WeightId gain, float epsilon);  // x [tokens, width], gain [width]
    NodeId qk_norm(NodeId x, WeightId gain, float epsilon);   // x [tokens, heads, head_dim], gain [head_dim]
    NodeId mat_mul(WeightId matrix, NodeId x, WeightId bias = {});  // x [tokens, k] -> [tokens, n]
    NodeId get_rows(WeightId table, NodeId rows);                   // rows i32 [n] -> [n, cols]
    NodeId get_rows(NodeId x, NodeId rows);                         // the same from a value
    NodeId rope(NodeId x, NodeId positions, const RopeParams& params, WeightId factors = {});
    // Stores k and v, [tokens, kv_heads, head_dim], in `layer` at cells(). At most once a layer.
    NodeId kv_store(uint32_t layer, NodeId k, NodeId v);
    // q [tokens, heads, head_dim] -> [tokens, heads * head_dim]. Reads what kv_store(layer) wrote before it,
    // or, in a graph that doesn't store that layer, what earlier executions left there.
    NodeId attention(NodeId q, uint32_t layer, const AttnParams& params);
    NodeId view(NodeId x, uint32_t first_row, uint32_t rows);
    NodeId reshape(NodeId x, const Shape& shape);
    NodeId permute(NodeId x, std::array<uint32_t, 3> axes);
    NodeId swiglu(NodeId gate, NodeId up);
    NodeId geglu(NodeId gate, NodeId up);

    // reshape [tokens, heads * head_dim] -> [tokens, heads, head_dim], and back.
    NodeId split_heads(NodeId x, uint32_t heads, uint32_t head_dim);
    NodeId merge_heads(NodeId x);

    // Marks a value that the caller reads; read in the order of these calls.
    void output(NodeId x);
    // An error found by the model code itself; kept like ours if it is the first.
    void fail(Error error);
    bool ok() const { return !error_; }

    Result<Graph> finish() &&;

  private:
    NodeId append(Op op, std::vector<NodeId> inputs, std::vector<WeightId> weights = {},
                  Attrs attrs = NoAttrs{}, const Shape& declared = {});
    NodeId standard_input(std::string_view name, uint32_t count);

    GraphParams params_;
    std::shared_ptr<const WeightTable> weights_;
    std::vector<Node> nodes_;
    std::vector<NodeId> outputs_;
    std::map<std::string, NodeId, std::less<>> inputs_by_name_;
    std::map<uint32_t, NodeId> store_of_layer_, load_of_layer_;
    std::optional<Error> error_;
};

}  // namespace ingot::graph
