#include <fmt/format.h>
#include <fmt/ranges.h>

#include "llm/graph/attrs.h"
#include "llm/graph/module.h"
#include "llm/graph/text.h"

namespace ingot::graph {

Attrs default_attrs(Op op) {
    switch (op) {
#define X(name, text, inputs, weights, attrs, ...) \
    case Op::k##name:                              \
        return attrs{};
        INGOT_GRAPH_OPS(X)
#undef X
    }
    return NoAttrs{};
}

namespace {

template <typename T>
std::string value_text(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return std::string(names_of(value)[size_t(value)]);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return fmt::format("\"{}\"", value);
    } else {
        return fmt::format("{}", value);
    }
}

std::string attrs_text(const Attrs& attrs) {
    return std::visit(
        [](const auto& a) {
            std::vector<std::string> defaults, words;
            const std::remove_cvref_t<decltype(a)> plain{};
            fields(plain,
                   [&](std::string_view, const auto& value) { defaults.push_back(value_text(value)); });
            size_t i = 0;
            fields(a, [&](std::string_view name, const auto& value) {
                std::string text = value_text(value);
                if (text != defaults[i++]) words.push_back(fmt::format("{}={}", name, text));
            });
            return words.empty() ? std::string() : fmt::format(" {{{}}}", fmt::join(words, " "));
        },
        attrs);
}

std::string operands_text(const Graph& graph, const Node& node) {
    std::vector<std::string> words;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].valid()) continue;
        words.push_back(fmt::format("{}=%{}", traits(node.op).inputs[i].name, node.inputs[i].index()));
    }
    for (size_t i = 0; i < node.weights.size(); ++i) {
        if (!node.weights[i].valid()) continue;
        words.push_back(
            fmt::format("{}=\"{}\"", traits(node.op).weights[i].name, graph.weights()[node.weights[i]].name));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string header_text(const Graph& graph) {
    const GraphParams& p = graph.params();
    std::vector<std::string_view> fuse;
    for (size_t i = 0; i < kFuseFlags.size(); ++i) {
        if (p.fuse.*kFuseFlags[i]) fuse.push_back(kFuseFlagNames[i]);
    }
    std::string text =
        fmt::format("graph tokens={} sequences={} outputs={} kv={} window={} fuse={}\n", p.tokens,
                    p.sequences, p.outputs, kv::traits(p.kv_format).name, kWindowModeNames[size_t(p.window)],
                    fuse.empty() ? "none" : fmt::format("{}", fmt::join(fuse, ",")));
    if (!graph.backends().empty()) text += fmt::format("backends {}\n", fmt::join(graph.backends(), " "));
    std::vector<bool> used(graph.weights().size());
    for (const Node& node : graph.nodes()) {
        for (WeightId id : node.weights) {
            if (id.valid()) used[id.index()] = true;
        }
    }
    for (size_t i = 0; i < used.size(); ++i) {
        if (!used[i]) continue;
        const Weight& w = graph.weights().all()[i];
        text +=
            fmt::format("weight \"{}\" {} [{}, {}]\n", w.name, ingot::traits(w.type).name, w.rows, w.cols);
    }
    return text;
}

std::string print_with(const Graph& graph, auto&& before, auto&& comment) {
    std::string text = header_text(graph);
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        text += before(i);
        text += fmt::format("%{} = {}({}){} : {} {}", i, to_string(node.op), operands_text(graph, node),
                            attrs_text(node.attrs), kDTypeNames[size_t(node.type)], to_string(node.shape));
        if (node.backend.valid()) text += fmt::format(" @{}", graph.backends()[node.backend.index()]);
        text += comment(i);
        text += '\n';
    }
    for (NodeId id : graph.outputs()) text += fmt::format("output %{}\n", id.index());
    return text;
}

}  // namespace

std::string print(const Graph& graph) {
    const auto nothing = [](uint32_t) { return std::string(); };
    return print_with(graph, nothing, nothing);
}

std::string print(const Module& module) {
    const auto before = [&](uint32_t i) {
        std::string text;
        if (!module.splits) return text;
        for (size_t s = 0; s < module.splits->size(); ++s) {
            const Split& split = (*module.splits)[s];
            if (split.first != i) continue;
            text = fmt::format("; split {} @{}", s, module.graph.backends()[split.backend.index()]);
            for (NodeId id : split.copies) text += fmt::format(" copies %{}", id.index());
            text += '\n';
        }
        return text;
    };
    const auto comment = [&](uint32_t i) {
        if (!module.allocation) return std::string();
        const ValuePlan& value = module.allocation->values[i];
        if (!value.slot.valid()) return std::string();
        const size_t size = module.allocation->slots[value.slot.index()].size_bytes;
        return fmt::format(" ; slot {} of {} bytes{}", value.slot.index(), size,
                           value.offset_bytes ? fmt::format(" at {}", value.offset_bytes) : "");
    };
    return print_with(module.graph, before, comment);
}

}  // namespace ingot::graph
