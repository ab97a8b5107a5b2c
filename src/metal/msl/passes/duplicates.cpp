#include <map>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

// Spells ranges as the compiler will see them: without attributes, address spaces and repeated const.
class Speller {
  public:
    explicit Speller(const Source& source) : source_(source) {}

    // Words that `names` has are spelled as it says.
    using Names = std::map<std::string_view, std::string>;
    std::string spell(Range range, const Names& names = {}) const {
        std::string text;
        bool was_const = false;
        for (size_t i = range.begin; i < range.end; ++i) {
            const auto list = source_.outline.attribute_lists().find(i);
            if (list != source_.outline.attribute_lists().end()) {
                i = list->second.range.end - 1;
                continue;
            }
            const Token& token = source_.tokens[i];
            const bool is_const = token.is("const") || token.is("constant");
            if (is_const && was_const) continue;
            if (!is_const && (is_address_space(token) || token.is("kernel"))) continue;
            was_const = is_const;
            const auto name = names.find(token.text);
            text += is_const ? "const" : name != names.end() ? name->second : token.text;
            text += ' ';
        }
        return text;
    }

    // What a function or class does, whatever its parameters are called.
    std::string spell_definition(const Declaration& declaration) const {
        if (declaration.kind == DeclarationKind::kClass)
            return spell({declaration.body.begin, declaration.range.end});
        Names names;
        for (const Range part : parameters_of(declaration)) {
            const Range type = without_name(part);
            const Token& name = source_.tokens[type.end];
            if (type.end < part.end && name.is_word())
                names.emplace(name.text, fmt::format("${}", names.size()));
        }
        return spell({declaration.qualifiers.end, declaration.range.end}, names);
    }

    std::string spell_parameters(const Declaration& declaration) const {
        std::string text = "(";
        for (const Range part : parameters_of(declaration)) text += spell(without_name(part)) + ",";
        return text + ")";
    }

  private:
    std::vector<Range> parameters_of(const Declaration& declaration) const {
        const Range list = declaration.parameters;
        return split_at_commas(source_.tokens, {list.begin + 1, list.end - 1});
    }

    // A parameter without its name and default value.
    Range without_name(Range range) const {
        for (size_t i = range.begin; i < range.end; ++i) {
            if (source_.tokens[i].is("=")) range.end = i;
        }
        if (range.end - range.begin >= 2 && source_.tokens[range.end - 1].is_word()) {
            const Token& before = source_.tokens[range.end - 2];
            const bool ends_type = before.is_word() ? !before.is("const") && !before.is("typename") &&
                                                          !before.is("unsigned") && !before.is("struct")
                                                    : before.is(">") || before.is("*") || before.is("&") ||
                                                          before.is("&&") || before.is("...");
            if (ends_type && !is_address_space(source_.tokens[range.end - 2])) --range.end;
        }
        return range;
    }

    const Source& source_;
};

// Reopened namespaces are one scope, classes are their own.
std::string scope_key(const Source& source, const Declaration& declaration) {
    const auto& declarations = source.outline.declarations();
    const bool in_class =
        declaration.parent != kNone && declarations[declaration.parent].kind == DeclarationKind::kClass;
    return in_class ? fmt::format("class {} ", declaration.parent)
                    : source.outline.scope_of(source.tokens, declaration) + " ";
}

bool is_constructor(const Source& source, const Declaration& declaration) {
    const auto& declarations = source.outline.declarations();
    const size_t name = declaration.parent == kNone ? kNone : declarations[declaration.parent].name;
    return name != kNone && source.tokens[name].text == source.tokens[declaration.name].text;
}

}  // namespace

Result<void> drop_duplicates(const Source& source, Edits& edits) {
    const Speller speller(source);
    const auto& declarations = source.outline.declarations();
    std::map<std::string, const Declaration*> seen;
    for (const Declaration& declaration : declarations) {
        const bool in_class =
            declaration.parent != kNone && declarations[declaration.parent].kind == DeclarationKind::kClass;
        std::string key = scope_key(source, declaration);
        if (declaration.kind == DeclarationKind::kFunction) {
            // A declaration ahead of its definition is fine, but not within a class.
            if (declaration.body.empty() && !in_class) continue;
            key += speller.spell({declaration.range.begin, declaration.parameters.begin}) +
                   speller.spell_parameters(declaration);
            if (!is_constructor(source, declaration)) key += speller.spell(declaration.qualifiers);
        } else if (declaration.kind == DeclarationKind::kClass && !declaration.template_headers.empty()) {
            key += speller.spell({declaration.range.begin, declaration.body.begin});
        } else {
            continue;
        }
        const auto [first, is_new] = seen.emplace(std::move(key), &declaration);
        if (is_new) continue;
        if (speller.spell_definition(*first->second) != speller.spell_definition(declaration)) {
            return fail(ErrorKind::kUnsupported,
                        "{}: error: this definition and the one at {} differ in what they do, and otherwise "
                        "by address spaces only, which select none here; give one of them another name",
                        source.tokens.place(declaration.head), source.tokens.place(first->second->head));
        }
        edits.drop(declaration.range);
    }
    return {};
}

}  // namespace ingot::metal::msl
