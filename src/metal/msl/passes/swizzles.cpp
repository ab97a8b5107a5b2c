#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

constexpr std::string_view kComponentNames[] = {"xyzw", "rgba"};

// "zx" -> "2, 0"; empty if it is no swizzle of several components.
std::string swizzle_indices(std::string_view name) {
    if (name.size() < 2 || name.size() > 4) return "";
    for (const std::string_view components : kComponentNames) {
        if (name.find_first_not_of(components) != std::string_view::npos) continue;
        std::string indices;
        for (const char c : name) {
            indices += fmt::format("{}{}", indices.empty() ? "" : ", ", components.find(c));
        }
        return indices;
    }
    return "";
}

constexpr std::array<std::string_view, 12> kAssignments{
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", "++", "--"};

bool is_assigned(const Tokens& tokens, size_t after) {
    const Token& next = tokens[after];
    if (next.kind != TokenKind::kPunctuation) return false;
    if (next.is(">") && tokens[after + 1].is(">=") && tokens[after + 1].leading.empty()) return true;  // >>=
    return std::find(kAssignments.begin(), kAssignments.end(), next.text) != kAssignments.end();
}

// "(" of a ")", "[" of a "]".
size_t opening(const Tokens& tokens, size_t close) {
    size_t open = close;
    while (open > 0 && tokens.closing(open) != close) --open;
    return open;
}

// The first token of the expression whose member a "." or "->" names: "a" of a.b[i].xy.
size_t operand_begin(const Tokens& tokens, size_t dot) {
    size_t begin = dot;
    while (begin > 0) {
        size_t at = begin - 1;
        if (tokens[at].is(")") || tokens[at].is("]")) {
            at = begin = opening(tokens, at);
            const bool goes_on =
                at > 0 && (tokens[at - 1].is_word() || tokens[at - 1].is("]") || tokens[at - 1].is(")"));
            if (goes_on) continue;
        } else if (tokens[at].is_word()) {
            begin = at;
        } else {
            return begin;
        }
        if (begin == 0) return begin;
        const Token& before = tokens[begin - 1];
        if (!before.is(".") && !before.is("->") && !before.is("::")) return begin;
        --begin;
    }
    return begin;
}

bool is_increment(const Token& token) {
    return token.is("++") || token.is("--");
}

// "z" -> 2; nullopt if it is no component.
std::optional<size_t> component_index(std::string_view name) {
    if (name.size() != 1) return std::nullopt;
    for (const std::string_view components : kComponentNames) {
        const size_t index = components.find(name);
        if (index != std::string_view::npos) return index;
    }
    return std::nullopt;
}

bool names_components(std::string_view name) {
    return component_index(name).has_value() || !swizzle_indices(name).empty();
}

// Behind the .x, .xy and [i] that stand at a place.
size_t behind_elements(const Tokens& tokens, size_t i) {
    while (true) {
        const bool is_member = tokens[i].is(".") && names_components(tokens[i + 1].text);
        if (is_member && !tokens[i + 2].is("(")) {
            i += 2;
        } else if (tokens[i].is("[")) {
            i = tokens.closing(i) + 1;
        } else {
            return i;
        }
    }
}

// What may stand before "(" without being called.
bool is_keyword(const Token& token) {
    return token.is("else") || token.is("do") || token.is("return");
}

// Whether the elements named behind `dot` are written: v.xy = w, ++v.xy, (v.xy) = w, v.xyz.yz = w...
bool is_target(const Tokens& tokens, size_t dot) {
    size_t begin = operand_begin(tokens, dot), after = dot + 2;
    while (true) {
        after = behind_elements(tokens, after);
        if (is_assigned(tokens, after) || (begin > 0 && is_increment(tokens[begin - 1]))) return true;
        const bool is_grouped = begin > 0 && tokens[begin - 1].is("(") && tokens.closing(begin - 1) == after;
        if (!is_grouped || (begin > 1 && tokens[begin - 2].is_word() && !is_keyword(tokens[begin - 2])))
            return false;
        --begin;
        ++after;
    }
}

// {.xy = 1}
bool is_designator(const Tokens& tokens, size_t dot) {
    return dot != 0 && (tokens[dot - 1].is("{") || tokens[dot - 1].is(","));
}

// struct { ... };
bool is_anonymous(const Source& source, const Declaration& declaration) {
    return declaration.kind == DeclarationKind::kClass && declaration.name == kNone &&
           source.tokens[declaration.body.end].is(";");
}

// The class whose members a class's members are: an anonymous one's are those of the class around it.
size_t owner_of(const Source& source, size_t index) {
    const auto& declarations = source.outline.declarations();
    while (is_anonymous(source, declarations[index]) && declarations[index].parent != kNone &&
           declarations[declarations[index].parent].kind == DeclarationKind::kClass) {
        index = declarations[index].parent;
    }
    return index;
}

// Data members of user classes that are named like a swizzle, by class.
std::map<size_t, std::set<std::string_view>> members_by_class(const Source& source) {
    std::map<size_t, std::set<std::string_view>> members;
    const auto& declarations = source.outline.declarations();
    for (const Declaration& member : declarations) {
        const bool in_class =
            member.parent != kNone && declarations[member.parent].kind == DeclarationKind::kClass;
        if (!in_class || member.kind != DeclarationKind::kOther) continue;
        for (size_t i = member.head + 1; i < member.range.end; ++i) {
            const Token& token = source.tokens[i];
            const Token& next = source.tokens[i + 1];
            if (!token.is_word() || swizzle_indices(token.text).empty()) continue;
            if (next.is(";") || next.is(",") || next.is("[") || next.is("=") || next.is("{")) {
                members[owner_of(source, member.parent)].insert(token.text);
            }
        }
    }
    return members;
}

std::set<std::string_view> names_of_members(const std::map<size_t, std::set<std::string_view>>& by_class) {
    std::set<std::string_view> all;
    for (const auto& [index, names] : by_class) all.insert(names.begin(), names.end());
    return all;
}

// Such a class gets the functions that uses of the name call: they give the member.
void add_accessors(const Source& source, const std::map<size_t, std::set<std::string_view>>& by_class,
                   Edits& edits) {
    for (const auto& [index, names] : by_class) {
        std::string text = " public:";
        for (const std::string_view name : names) {
            const std::string indices = swizzle_indices(name);
            for (const char* function : {"swizzle", "swizzle_ref"}) {
                for (const char* constness : {"", " const"}) {
                    text += fmt::format(
                        " template <int... I> requires(::metal::ingot::is_swizzle<"
                        "::metal::ingot::swizzle_of<{0}>, I...>) "
                        "constexpr auto {1}(){2} -> decltype((this->{3})) {{ return this->{3}; }}",
                        indices, function, constness, name);
                }
            }
        }
        edits.insert_before(source.outline.declarations()[index].body.end - 1, text + " ");
    }
}

}  // namespace

void rewrite_swizzles(const Source& source, Edits& edits) {
    const Tokens& tokens = source.tokens;
    const auto by_class = members_by_class(source);
    const std::set<std::string_view> members = names_of_members(by_class);
    add_accessors(source, by_class, edits);
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (!tokens[i].is(".") && !tokens[i].is("->")) continue;
        const Token& name = tokens[i + 1];
        if (!name.is_word() || tokens[i + 2].is("(") || is_designator(tokens, i)) continue;
        const std::string indices = swizzle_indices(name.text);
        if (indices.empty()) continue;
        const bool writes = is_target(tokens, i);
        edits.replace(i + 1, fmt::format("template {}<{}>()", writes ? "swizzle_ref" : "swizzle", indices));
        // What is to be written has elements, v.xyz[2], but no member z. (A class's own member may have.)
        const Token& element = tokens[i + 3];
        const std::optional<size_t> index = component_index(element.text);
        if (!writes || !tokens[i + 2].is(".") || !index || members.contains(name.text)) continue;
        edits.erase(i + 2);
        edits.replace(i + 3, fmt::format("[{}]", *index));
    }
}

}  // namespace ingot::metal::msl
