#include <algorithm>
#include <array>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

// What an external declaration can't have, or says itself.
constexpr std::array<std::string_view, 5> kDropped{"static", "constexpr", "const", "constant", "inline"};

bool is_dropped(const Token& token) {
    return std::find(kDropped.begin(), kDropped.end(), token.text) != kDropped.end();
}

const AttributeList* function_constant_list(const Source& source, const Declaration& declaration) {
    const auto& lists = source.outline.attribute_lists();
    for (auto i = lists.lower_bound(declaration.range.begin);
         i != lists.end() && i->first < declaration.range.end; ++i) {
        for (const Attribute& attribute : i->second.attributes) {
            if (attribute.name == "function_constant") return &i->second;
        }
    }
    return nullptr;
}

// is_function_constant_defined(a::b) -> a::ingot_is_defined_b
void rewrite_tests(const Source& source, Edits& edits) {
    const Tokens& tokens = source.tokens;
    for (size_t i = 0; i + 2 < tokens.size(); ++i) {
        if (!tokens[i].is("is_function_constant_defined") || !tokens[i + 1].is("(")) continue;
        const size_t close = tokens.closing(i + 1);
        if (close < i + 3 || !tokens[close - 1].is_word()) continue;
        edits.erase(i);
        edits.replace(close - 1, "ingot_is_defined_" + std::string(tokens[close - 1].text));
    }
}

}  // namespace

std::vector<FunctionConstantDeclaration> declare_function_constants(const Source& source, Edits& edits) {
    std::vector<FunctionConstantDeclaration> constants;
    const Tokens& tokens = source.tokens;
    for (size_t d = 0; d < source.outline.declarations().size(); ++d) {
        const Declaration& declaration = source.outline.declarations()[d];
        if (declaration.kind != DeclarationKind::kOther) continue;
        const AttributeList* list = function_constant_list(source, declaration);
        if (list == nullptr) continue;
        const size_t name = list->range.begin - 1;
        if (name <= declaration.head || !tokens[name].is_word()) continue;
        std::string type;
        for (size_t i = declaration.head; i < name; ++i) {
            if (!is_dropped(tokens[i]))
                type += fmt::format("{}{}", tokens[i].leading.empty() ? "" : " ", tokens[i].text);
        }
        const std::string name_text(tokens[name].text);
        const std::string index = tokens.text(list->attributes[0].arguments);
        edits.erase(declaration.range);
        edits.insert_before(declaration.range.begin,
                            fmt::format("extern const {} {}; extern const bool ingot_is_defined_{}; enum : "
                                        "unsigned {{ ingot_index_of_{} = unsigned({}) }};",
                                        type, name_text, name_text, name_text, index));
        constants.push_back({d, name_text, source.outline.scope_of(tokens, declaration)});
    }
    rewrite_tests(source, edits);
    return constants;
}

}  // namespace ingot::metal::msl
