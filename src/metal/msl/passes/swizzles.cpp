#include <algorithm>
#include <array>
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

// Data members of user classes that are named like a swizzle.
std::set<std::string_view> declared_members(const Source& source) {
    std::set<std::string_view> members;
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
                members.insert(token.text);
            }
        }
    }
    return members;
}

}  // namespace

void rewrite_swizzles(const Source& source, Edits& edits) {
    const Tokens& tokens = source.tokens;
    const std::set<std::string_view> members = declared_members(source);
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (!tokens[i].is(".") && !tokens[i].is("->")) continue;
        const Token& name = tokens[i + 1];
        if (!name.is_word() || tokens[i + 2].is("(") || members.count(name.text) != 0) continue;
        const std::string indices = swizzle_indices(name.text);
        if (indices.empty()) continue;
        const char* member = is_assigned(tokens, i + 2) ? "swizzle_ref" : "swizzle";
        edits.replace(i + 1, fmt::format("template {}<{}>()", member, indices));
    }
}

}  // namespace ingot::metal::msl
