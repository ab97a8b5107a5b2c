// The fields of each attribute struct, named once: fields(attrs, f) calls f(name, member) in print order. The
// printer, the parser and the .dot writer are written against it.
#pragma once

#include "llm/graph/graph.h"

namespace ingot::graph {

// Text names of the enums that occur in attributes, indexed by value.
inline constexpr std::array<std::string_view, 2> kRopeStyleNames = {"interleaved", "neox"};
inline constexpr std::array<std::string_view, 3> kRopeScalingNames = {"none", "linear", "yarn"};
inline constexpr std::array<std::string_view, 2> kActivationNames = {"silu", "gelu"};
inline constexpr std::array<std::string_view, 3> kWindowModeNames = {"causal", "span", "map"};
inline constexpr std::array<std::string_view, 3> kDTypeNames = {"f32", "i32", "kv"};

constexpr std::span<const std::string_view> names_of(RopeStyle) {
    return kRopeStyleNames;
}
constexpr std::span<const std::string_view> names_of(RopeScaling) {
    return kRopeScalingNames;
}
constexpr std::span<const std::string_view> names_of(Activation) {
    return kActivationNames;
}

// An Attrs that holds the alternative of `op`, default-constructed.
Attrs default_attrs(Op op);

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

void fields(Is<NoAttrs> auto&, auto&&) {}
void fields(Is<InputAttrs> auto& a, auto&& f) {
    f("name", a.name);
}
void fields(Is<ScaleAttrs> auto& a, auto&& f) {
    f("factor", a.factor);
}
void fields(Is<NormAttrs> auto& a, auto&& f) {
    f("epsilon", a.epsilon);
}
void fields(Is<RopeParams> auto& a, auto&& f) {
    f("style", a.style);
    f("dims", a.dims);
    f("base", a.base);
    f("scaling", a.scaling);
    f("factor", a.factor);
    f("original_context", a.original_context);
    f("beta_fast", a.beta_fast);
    f("beta_slow", a.beta_slow);
    f("attn_factor", a.attn_factor);
}
void fields(Is<AttnParams> auto& a, auto&& f) {
    f("heads", a.heads);
    f("kv_heads", a.kv_heads);
    f("head_dim", a.head_dim);
    f("scale", a.scale);
    f("window", a.window);
    f("softcap", a.softcap);
}
void fields(Is<KvAttrs> auto& a, auto&& f) {
    f("layer", a.layer);
    f("kv_heads", a.kv_heads);
    f("head_dim", a.head_dim);
}
void fields(Is<ViewAttrs> auto& a, auto&& f) {
    f("first_row", a.first_row);
}
void fields(Is<PermuteAttrs> auto& a, auto&& f) {
    f("axis0", a.axes[0]);
    f("axis1", a.axes[1]);
    f("axis2", a.axes[2]);
}
void fields(Is<QkvAttrs> auto& a, auto&& f) {
    f("layer", a.layer);
    f("heads", a.heads);
    f("kv_heads", a.kv_heads);
    f("head_dim", a.head_dim);
    f("epsilon", a.epsilon);
    fields(a.rope, f);
}
void fields(Is<FfnAttrs> auto& a, auto&& f) {
    f("activation", a.activation);
}

}  // namespace ingot::graph
