#include "llm/model/hyper_params.h"

#include <cmath>

namespace ingot::model {
namespace {

// Far above any model of these architectures, low enough that no product of two overflows.
constexpr uint32_t kMaxLayers = 1024;
constexpr uint32_t kMaxWidth = 1u << 20;
constexpr uint32_t kMaxHeads = 4096;
constexpr uint32_t kMaxHeadDim = 4096;
constexpr uint32_t kMaxContext = 1u << 30;
constexpr uint32_t kMaxVocab = 1u << 24;

// Where the size of the vocabulary stands depends on whether the file holds one.
Result<uint32_t> read_vocab_size(const Keys& keys) {
    constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
    if (keys.file().find(kTokens)) {
        INGOT_ASSIGN(const gguf::Array* tokens, keys.file().get_array(kTokens));
        if (tokens->size() >= 1 && tokens->size() <= kMaxVocab) return uint32_t(tokens->size());
        return fail(ErrorKind::kCorrupt, "{}: key '{}' has {} entries; 1 to {} are accepted",
                    keys.file().path(), kTokens, tokens->size(), kMaxVocab);
    }
    return keys.count("vocab_size", 1, kMaxVocab);
}

Result<void> read_scaling(const Keys& keys, HyperParams& hyper) {
    graph::RopeParams& rope = hyper.rope;
    INGOT_ASSIGN(rope.attn_factor, keys.number("rope.scaling.attn_factor", 1e-6, 1e6, 1.0f));
    std::string_view type = keys.has("rope.scaling.factor") ? "linear" : "none";  // where no type is given
    if (const std::string name = keys.name("rope.scaling.type"); keys.file().find(name)) {
        INGOT_ASSIGN(type, keys.file().get_string(name));
    } else if (type == "none" &&
               keys.has("rope.scale_linear")) {  // how files said it before there were types
        INGOT_ASSIGN(rope.factor, keys.number("rope.scale_linear", 1e-3, 1e6));
        rope.scaling = rope.factor == 1.0f ? graph::RopeScaling::kNone : graph::RopeScaling::kLinear;
        return {};
    }
    if (type == "none") return {};
    if (type != "linear" && type != "yarn") {
        return keys.refuse("rope.scaling.type", fmt::format("'{}'", type), "'none', 'linear' or 'yarn'");
    }
    INGOT_ASSIGN(rope.factor, keys.number("rope.scaling.factor", 1e-3, 1e6));
    rope.scaling = type == "yarn" ? graph::RopeScaling::kYarn : graph::RopeScaling::kLinear;
    if (rope.scaling == graph::RopeScaling::kLinear) return {};
    INGOT_ASSIGN(rope.original_context,
                 keys.count("rope.scaling.original_context_length", 1, kMaxContext, hyper.context));
    if (keys.has("rope.scaling.yarn_attn_factor")) {  // Hugging Face's attention_factor: the whole magnitude
        INGOT_ASSIGN(const float whole, keys.number("rope.scaling.yarn_attn_factor", 1e-6, 1e6));
        rope.attn_factor *= float(whole / graph::yarn_magnitude(rope.factor));
    }
    INGOT_ASSIGN(rope.beta_fast, keys.number("rope.scaling.yarn_beta_fast", 1e-3, 1e6, 32.0f));
    INGOT_ASSIGN(rope.beta_slow, keys.number("rope.scaling.yarn_beta_slow", 1e-3, 1e6, 1.0f));
    INGOT_TRY(keys.refuse_unless("rope.scaling.yarn_ext_factor", 1.0));
    return keys.refuse_unless("rope.scaling.yarn_log_multiplier", 0.0);
}

Result<void> read_rope(const Keys& keys, graph::RopeStyle style, HyperParams& hyper) {
    hyper.rope.style = style;
    INGOT_ASSIGN(hyper.rope.dims, keys.count("rope.dimension_count", 2, hyper.head_dim, hyper.head_dim));
    if (hyper.rope.dims % 2 != 0) {
        return keys.refuse("rope.dimension_count", fmt::format("{}", hyper.rope.dims), "an even number");
    }
    INGOT_ASSIGN(hyper.rope.base, keys.number("rope.freq_base", 1.0, 1e12, 10000.0f));
    return read_scaling(keys, hyper);
}

Result<void> read_heads(const Keys& keys, HyperParams& hyper) {
    INGOT_ASSIGN(hyper.heads, keys.count("attention.head_count", 1, kMaxHeads));
    INGOT_ASSIGN(hyper.kv_heads, keys.count("attention.head_count_kv", 1, hyper.heads, hyper.heads));
    if (hyper.heads % hyper.kv_heads != 0) {
        return keys.refuse("attention.head_count_kv", fmt::format("{}", hyper.kv_heads),
                           fmt::format("a divisor of the {} heads", hyper.heads));
    }
    if (!keys.has("attention.key_length") && hyper.width % hyper.heads != 0) {
        return keys.refuse(
            "attention.head_count", fmt::format("{}", hyper.heads),
            fmt::format("a divisor of the width {} where attention.key_length is missing", hyper.width));
    }
    INGOT_ASSIGN(hyper.head_dim,
                 keys.count("attention.key_length", 2, kMaxHeadDim, hyper.width / hyper.heads));
    INGOT_ASSIGN(const uint32_t value_dim,
                 keys.count("attention.value_length", 1, kMaxHeadDim, hyper.head_dim));
    if (value_dim != hyper.head_dim) {
        return keys.refuse("attention.value_length", fmt::format("{}", value_dim),
                           fmt::format("the key length {}", hyper.head_dim));
    }
    hyper.attention_scale = 1.0f / std::sqrt(float(hyper.head_dim));
    return {};
}

}  // namespace

std::string Keys::name(std::string_view key) const {
    return fmt::format("{}.{}", architecture_, key);
}

Failure Keys::refuse(std::string_view key, std::string_view found, std::string_view accepted) const {
    return fail(ErrorKind::kUnsupported, "{}: key '{}' is {}; {} is accepted", file_.path(), name(key), found,
                accepted);
}

Result<uint32_t> Keys::count(std::string_view key, uint32_t min, uint32_t max) const {
    INGOT_ASSIGN(const uint64_t value, file_.get_uint(name(key)));
    if (value >= min && value <= max) return uint32_t(value);
    return refuse(key, fmt::format("{}", value), fmt::format("{} to {}", min, max));
}

Result<uint32_t> Keys::count(std::string_view key, uint32_t min, uint32_t max, uint32_t fallback) const {
    if (!has(key)) return fallback;
    return count(key, min, max);
}

Result<float> Keys::number(std::string_view key, double min, double max) const {
    INGOT_ASSIGN(const double value, file_.get_float(name(key)));
    if (value >= min && value <= max) return float(value);  // false for NaN
    return refuse(key, fmt::format("{}", value), fmt::format("{} to {}", min, max));
}

Result<float> Keys::number(std::string_view key, double min, double max, float fallback) const {
    if (!has(key)) return fallback;
    return number(key, min, max);
}

Result<void> Keys::refuse_unless(std::string_view key, double neutral) const {
    if (!has(key)) return {};
    INGOT_ASSIGN(const double value, file_.get_float(name(key)));
    if (value == neutral) return {};
    return refuse(key, fmt::format("{}", value), fmt::format("only {}", neutral));
}

Result<HyperParams> read_hyper_params(const Keys& keys, graph::RopeStyle style) {
    HyperParams hyper;
    INGOT_ASSIGN(hyper.context, keys.count("context_length", 1, kMaxContext));
    INGOT_ASSIGN(hyper.layers, keys.count("block_count", 1, kMaxLayers));
    INGOT_ASSIGN(hyper.width, keys.count("embedding_length", 1, kMaxWidth));
    INGOT_ASSIGN(hyper.ffn, keys.count("feed_forward_length", 1, kMaxWidth));
    INGOT_TRY(read_heads(keys, hyper));
    INGOT_TRY(read_rope(keys, style, hyper));
    INGOT_ASSIGN(hyper.norm_epsilon, keys.number("attention.layer_norm_rms_epsilon", 0.0, 1.0));
    INGOT_ASSIGN(hyper.vocab, read_vocab_size(keys));
    INGOT_TRY(keys.count("expert_count", 0, 0, 0));  // mixtures of experts are other architectures' business
    for (const std::string_view key : {"final_logit_softcapping", "attn_logit_softcapping"}) {
        INGOT_TRY(keys.refuse_unless(key, 0.0));
    }
    for (const std::string_view key : {"logit_scale", "embedding_scale", "residual_scale"}) {
        INGOT_TRY(keys.refuse_unless(key, 1.0));
    }
    return hyper;
}

}  // namespace ingot::model
