#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

// No constructor of C++ is const, but one of Metal may be for a space.
void erase_from_constructors(const Source& source, Edits& edits) {
    const auto& declarations = source.outline.declarations();
    for (const Declaration& declaration : declarations) {
        if (declaration.kind != DeclarationKind::kFunction || declaration.parent == kNone) continue;
        const Declaration& parent = declarations[declaration.parent];
        if (parent.kind != DeclarationKind::kClass || parent.name == kNone) continue;
        if (source.tokens[parent.name].text != source.tokens[declaration.name].text) continue;
        for (size_t i = declaration.qualifiers.begin; i < declaration.qualifiers.end; ++i) {
            if (source.tokens[i].is("constant")) edits.erase(i);
        }
    }
}

bool is_qualifier(const Token& token) {
    return is_address_space(token) || token.is("volatile") || token.is("const");
}

// coherent(device) or coherent, beside another qualifier: here cores see each other's writes anyway.
Range coherent_at(const Tokens& tokens, size_t i) {
    if (!tokens[i].is("coherent")) return {};
    if (tokens[i + 1].is("(") && tokens[i + 2].is_word() && tokens[i + 3].is(")")) {
        const std::string_view scope = tokens[i + 2].text;
        const bool is_scope = is_address_space(tokens[i + 2]) || scope == "system" || scope == "simdgroup";
        return is_scope ? Range{i, i + 4} : Range{};
    }
    const bool is_beside = is_qualifier(tokens[i + 1]) || (i > 0 && is_qualifier(tokens[i - 1]));
    return is_beside ? Range{i, i + 1} : Range{};
}

}  // namespace

void erase_address_spaces(const Source& source, Edits& edits) {
    for (size_t i = 0; i < source.tokens.size(); ++i) {
        const Token& token = source.tokens[i];
        edits.erase(coherent_at(source.tokens, i));
        if (token.is("constant")) {
            edits.replace(i, "const");
        } else if (is_address_space(token) || token.is("kernel")) {
            edits.erase(i);
        }
    }
    erase_from_constructors(source, edits);
}

void erase_attributes(const Source& source, Edits& edits) {
    for (const auto& [begin, list] : source.outline.attribute_lists()) edits.erase(list.range);
}

}  // namespace ingot::metal::msl
