#include <algorithm>
#include <array>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

constexpr std::array<std::string_view, 4> kNoPartOfTypes{"static", "inline", "extern", "constexpr"};

bool is_visible(const Source& source, const Declaration& declaration) {
    if (declaration.kind != DeclarationKind::kFunction || declaration.body.empty()) return false;
    if (!declaration.template_headers.empty()) return false;
    const auto attributes = source.outline.attributes_in({declaration.range.begin, declaration.body.begin});
    return std::ranges::any_of(attributes, [](const Attribute* one) { return one->name == "visible"; });
}

std::string return_type(const Source& source, const Declaration& declaration, const Edits& edits) {
    std::string text;
    for (size_t i = declaration.head; i < declaration.name; ++i) {
        const Token& token = source.tokens[i];
        if (token.kind == TokenKind::kString ||
            std::ranges::find(kNoPartOfTypes, token.text) != kNoPartOfTypes.end())
            continue;
        text += edits.text({i, i + 1}) + " ";
    }
    return text;
}

}  // namespace

std::vector<VisibleFunction> find_visible_functions(const Source& source, Edits& edits) {
    std::vector<VisibleFunction> functions;
    for (const Declaration& declaration : source.outline.declarations()) {
        if (!is_visible(source, declaration)) continue;
        const std::string scope = source.outline.scope_of(source.tokens, declaration);
        const std::string name(source.tokens[declaration.name].text);
        const std::string holder = fmt::format("ingot_visible_{}", functions.size());
        // The written type picks the right one of several overloads.
        edits.insert_before(
            declaration.range.end,
            fmt::format("struct {} {{ static constexpr {}(*function){} = &{}; }}; ", holder,
                        return_type(source, declaration, edits), edits.text(declaration.parameters), name));
        const std::string prefix = scope.empty() ? "" : scope + "::";
        functions.push_back({prefix + name, fmt::format("::{}{}::function", prefix, holder)});
    }
    return functions;
}

std::string define_visible_calls(const std::vector<VisibleFunction>& functions) {
    std::string text =
        " namespace metal { template <typename R, typename... A> R call_visible(visible_function<R(A...)> "
        "callee, "
        "typename ingot::stated<A>::type... arguments) { ";
    for (size_t i = 0; i < functions.size(); ++i) {
        text += fmt::format(
            "if constexpr (ingot::has_signature<decltype({0}), R(A...)>) if (callee.number == {1}) return "
            "{0}(arguments...); ",
            functions[i].pointer, i + 1);
    }
    return text + "return ingot::call_nothing<R>(); } }\n";
}

}  // namespace ingot::metal::msl
