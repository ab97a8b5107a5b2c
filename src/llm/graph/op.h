// The operations of the compute graph. INGOT_GRAPH_OPS is the only list of them: the enum, names, arity,
// roles of operands, in-place rule and the table in docs/graph.md all derive from it. Shape rules are in
// infer.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::graph {

// X(Op, text name, roles of input values, roles of weights, attributes, may its output take its first input's
//   memory?, one line of documentation). A role that ends in '?' may be absent.
// clang-format off
#define INGOT_GRAPH_OPS(X)                                                                                             \
    X(Input,        "input",          "",                 "",              InputAttrs,   false, "Host data, written before each execution") \
    X(Add,          "add",            "a b",              "",              NoAttrs,      true,  "a + b, equal shapes")                       \
    X(Mul,          "mul",            "a b",              "",              NoAttrs,      true,  "a * b, equal shapes")                       \
    X(Scale,        "scale",          "x",                "",              ScaleAttrs,   true,  "x * factor")                                \
    X(Silu,         "silu",           "x",                "",              NoAttrs,      true,  "x / (1 + exp(-x))")                         \
    X(Gelu,         "gelu",           "x",                "",              NoAttrs,      true,  "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))") \
    X(Softmax,      "softmax",        "x",                "",              NoAttrs,      true,  "Over the last dimension")                   \
    X(RmsNorm,      "rms_norm",       "x",                "gain",          NormAttrs,    true,  "x / sqrt(mean(x^2) + epsilon) * gain, over [tokens, width]") \
    X(QkNorm,       "qk_norm",        "x",                "gain",          NormAttrs,    true,  "The same over head_dim of [tokens, heads, head_dim]") \
    X(MatMul,       "mat_mul",        "x",                "matrix bias?",  NoAttrs,      false, "x [tokens, k] by matrix [n, k] -> [tokens, n], plus bias [n]") \
    X(GetRows,      "get_rows",       "rows x?",          "table?",        NoAttrs,      false, "Rows of a weight, or of x, by index")      \
    X(RoPE,         "rope",           "x positions",      "factors?",      RopeParams,   true,  "Rotates the leading dims of each head by its position") \
    X(Attn,         "attn",           "q kv window",      "",              AttnParams,   false, "softmax(scale q k^T, windowed) v, grouped query heads") \
    X(KvcacheStore, "kvcache_store",  "k v cells",        "",              KvAttrs,      false, "Writes rows of K and V into the layer's cells") \
    X(KvcacheLoad,  "kvcache_load",   "after?",           "",              KvAttrs,      false, "Names the layer's cells for reading, after what `after` stored") \
    X(View,         "view",           "x",                "",              ViewAttrs,    true,  "Rows [first, first + n) of x; no data moves") \
    X(Reshape,      "reshape",        "x",                "",              NoAttrs,      true,  "Same elements, another shape; no data moves") \
    X(Permute,      "permute",        "x",                "",              PermuteAttrs, false, "Dimension i of the result is dimension axes[i] of x") \
    X(SwiGLU,       "swiglu",         "gate up",          "",              NoAttrs,      true,  "silu(gate) * up")                           \
    X(GeGLU,        "geglu",          "gate up",          "",              NoAttrs,      true,  "gelu(gate) * up")                           \
    X(FusedQKV,     "fused_qkv",      "x positions cells", "wq wk wv bq? bk? bv? factors?",               QkvAttrs, false, "Three projections, RoPE, KV store; yields the rotated q") \
    X(FusedQkvNorm, "fused_qkv_norm", "x positions cells", "wq wk wv bq? bk? bv? factors? q_gain k_gain", QkvAttrs, false, "The same with a norm of each head before RoPE") \
    X(FusedFFN,     "fused_ffn",      "x",                "gate up",       FfnAttrs,     false, "activation(gate x) * (up x)")
// clang-format on

enum class Op : uint8_t {
#define X(name, ...) k##name,
    INGOT_GRAPH_OPS(X)
#undef X
};

// The names in a role list, at most kMaxRoles.
inline constexpr size_t kMaxRoles = 9;
struct Roles {
    struct Role {
        std::string_view name;
        bool optional = false;
    };
    std::array<Role, kMaxRoles> items{};
    size_t size = 0;

    constexpr explicit Roles(std::string_view list) {
        while (!list.empty()) {
            const size_t end = std::min(list.find(' '), list.size());
            std::string_view word = list.substr(0, end);
            const bool optional = word.ends_with('?');
            if (optional) word.remove_suffix(1);
            items[size++] = {word, optional};
            list.remove_prefix(std::min(end + 1, list.size()));
        }
    }
    constexpr const Role* begin() const { return items.data(); }
    constexpr const Role* end() const { return items.data() + size; }
    constexpr const Role& operator[](size_t i) const { return items[i]; }
};

struct OpTraits {
    Op op;
    std::string_view name;  // as in graph text
    Roles inputs;
    Roles weights;
    bool in_place;  // the output may take the memory of input 0
    std::string_view doc;
};

inline constexpr std::array kOps = {
#define X(name, text, inputs, weights, attrs, in_place, doc) \
    OpTraits{Op::k##name, text, Roles(inputs), Roles(weights), in_place, doc},
    INGOT_GRAPH_OPS(X)
#undef X
};

constexpr const OpTraits& traits(Op op) {
    return kOps[size_t(op)];
}
constexpr std::string_view to_string(Op op) {
    return traits(op).name;
}

constexpr std::optional<Op> op_from_name(std::string_view name) {
    for (const OpTraits& row : kOps) {
        if (row.name == name) return row.op;
    }
    return std::nullopt;
}

// Writes the KV cache: kept although no value depends on it.
constexpr bool has_effect(Op op) {
    return op == Op::kKvcacheStore || op == Op::kFusedQKV || op == Op::kFusedQkvNorm;
}
// Yields its input's memory under another shape; backends have nothing to execute.
constexpr bool is_alias(Op op) {
    return op == Op::kView || op == Op::kReshape;
}

}  // namespace ingot::graph
