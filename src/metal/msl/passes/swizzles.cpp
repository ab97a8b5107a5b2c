#include <algorithm>
#include <array>
#include <map>
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

// Such a class gets the functions that uses of the name call: they give the member.
void add_accessors(const Source& source, Edits& edits) {
    for (const auto& [index, names] : members_by_class(source)) {
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
    add_accessors(source, edits);
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (!tokens[i].is(".") && !tokens[i].is("->")) continue;
        const Token& name = tokens[i + 1];
        if (!name.is_word() || tokens[i + 2].is("(") || is_designator(tokens, i)) continue;
        const std::string indices = swizzle_indices(name.text);
        if (indices.empty()) continue;
        const char* member = is_assigned(tokens, i + 2) ? "swizzle_ref" : "swizzle";
        edits.replace(i + 1, fmt::format("template {}<{}>()", member, indices));
    }
}

}  // namespace ingot::metal::msl
