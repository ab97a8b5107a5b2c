// Which nodes the kernels serve: asked when a graph is built, never at run time.
#include "llm/backend/metal/metal_backend.h"

namespace ingot::mtl {
namespace {

using graph::Node;
using graph::Op;

constexpr uint32_t kMaxHeadDim = 256;  // of kernels/attention.metal

Result<void> check_matrix(const graph::Weight& weight) {
    const WeightFormat* format = weight_format(weight.type);
    if (format == nullptr) {
        std::string accepted;
        for (const WeightFormat& row : kWeightFormats)
            accepted += fmt::format(" {}", ingot::traits(row.type).name);
        return fail(ErrorKind::kUnsupported, "'{}' is {}; the Metal kernels accept{}", weight.name,
                    ingot::traits(weight.type).name, accepted);
    }
    if (weight.cols % format->row_multiple != 0) {
        return fail(ErrorKind::kUnsupported,
                    "'{}' has rows of {} elements; the {} kernels accept multiples of {}", weight.name,
                    weight.cols, ingot::traits(weight.type).name, format->row_multiple);
    }
    return {};
}

// Fused nodes exist for one token and for weights of one type.
Result<void> check_fused(const graph::Graph& graph, const Node& node, size_t num_matrices) {
    if (node.shape[0] != 1) {
        return fail(ErrorKind::kUnsupported, "{} has {} tokens; the fused kernels accept 1",
                    to_string(node.op), node.shape[0]);
    }
    const graph::Weight& first = graph.weights()[node.weights[0]];
    for (size_t i = 0; i < num_matrices; ++i) {
        const graph::Weight& weight = graph.weights()[node.weights[i]];
        INGOT_TRY(check_matrix(weight));
        if (weight.type == first.type) continue;
        return fail(ErrorKind::kUnsupported, "'{}' is {} and '{}' is {}; the fused kernels accept one type",
                    first.name, ingot::traits(first.type).name, weight.name, ingot::traits(weight.type).name);
    }
    return {};
}

Result<void> check_biases(const Node& node) {
    const bool has_bias = node.weights[3].valid();
    if (node.weights[4].valid() == has_bias && node.weights[5].valid() == has_bias) return {};
    return fail(ErrorKind::kUnsupported,
                "some of q, k and v have a bias; the fused kernels accept all or none");
}

Result<void> check_attention(const graph::AttnParams& p) {
    if (p.head_dim % 4 == 0 && p.head_dim <= kMaxHeadDim && p.heads % p.kv_heads == 0) return {};
    return fail(ErrorKind::kUnsupported,
                "attention has {} heads of {} over {} KV heads; the Metal kernels accept heads of 4 to {} "
                "elements, a multiple of 4, and a multiple of the KV heads",
                p.heads, p.head_dim, p.kv_heads, kMaxHeadDim);
}

}  // namespace

Result<void> MetalBackend::supports_op(const graph::Graph& graph, const Node& node) const {
    switch (node.op) {
        case Op::kMatMul:
            return check_matrix(graph.weights()[node.weights[0]]);
        case Op::kGetRows:
            if (node.weights[0].valid()) return check_matrix(graph.weights()[node.weights[0]]);
            if (node.shape.last() % 4 == 0) return {};
            return fail(ErrorKind::kUnsupported,
                        "rows of {} elements; the Metal kernel accepts multiples of 4", node.shape.last());
        case Op::kFusedQKV:
        case Op::kFusedQkvNorm:
            INGOT_TRY(check_biases(node));
            return check_fused(graph, node, 3);
        case Op::kFusedFFN:
            return check_fused(graph, node, 2);
        case Op::kAttn:
            return check_attention(node.as<graph::AttnParams>());
        default:
            return {};
    }
}

}  // namespace ingot::mtl
