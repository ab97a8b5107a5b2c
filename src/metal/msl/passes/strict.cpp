// What Apple's compiler checks about address spaces and this front end, which erases them, wouldn't see:
// every pointer and reference states its space, and what is stated holds. The second is checked in the AIR
// form, where the space of each pointer is known; here the statements are noted as calls.
#include <set>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

// A declared pointer or reference: of a parameter, a member or a variable.
struct Indirection {
    size_t space = kNone;  // the word of its address space
    size_t sign = kNone;   // the "*" or "&"
    size_t name = kNone;
    bool is_auto = false;
};

// Reads "device const vec<T, 4>* name" from `begin` up to "=", ";", "," or `end`. Nothing is found where
// brackets of functions and arrays make it something else.
Indirection read_indirection(const Source& source, size_t begin, size_t end) {
    Indirection found;
    for (size_t i = begin; i < end; ++i) {
        const Token& token = source.tokens[i];
        const auto list = source.outline.attribute_lists().find(i);
        if (list != source.outline.attribute_lists().end()) {
            i = list->second.range.end - 1;
        } else if (token.is("=") || token.is(";") || token.is(",")) {
            break;
        } else if (token.is("(") || token.is("{") || token.is("[")) {
            return {};
        } else if (token.is("<")) {
            const size_t close = source.tokens.closing_angle(i);
            if (close >= end) return {};
            i = close;
        } else if (is_address_space(token)) {
            found.space = i;
        } else if (token.is("*") || token.is("&") || token.is("&&")) {
            if (found.sign == kNone) found.sign = i;
        } else if (token.is("auto")) {
            found.is_auto = true;
        } else if (token.is_word()) {
            found.name = i;
        } else if (!token.is("::") && !token.is("...")) {
            return {};
        }
    }
    return found;
}

bool has_unstated_space(const Indirection& found) {
    return found.sign != kNone && found.space == kNone && !found.is_auto;
}

Failure unstated(const Source& source, const Indirection& found) {
    const bool is_pointer = source.tokens[found.sign].is("*");
    return fail(ErrorKind::kCorrupt, "{}: error: {} type must have explicit address space qualifier",
                source.tokens.place(found.sign), is_pointer ? "pointer" : "reference");
}

// Statements of a body that read like "T* name = ..." or "T* name;": first token and semicolon.
std::vector<Range> pointer_statements(const Source& source, Range body) {
    std::vector<Range> statements;
    const Tokens& tokens = source.tokens;
    for (size_t i = body.begin; i + 1 < body.end; ++i) {
        if (!tokens[i].is("{") && !tokens[i].is("}") && !tokens[i].is(";")) continue;
        if (!tokens[i + 1].is_word() || tokens[i + 1].is("return")) continue;
        const Indirection found = read_indirection(source, i + 1, body.end);
        // "a * b;" multiplies: a declaration has its name right behind the sign, and a value or qualifiers.
        if (found.sign == kNone || found.name != found.sign + 1 || found.sign == i + 1) continue;
        const bool initialised = tokens[found.name + 1].is("=");
        if (!initialised && (found.space == kNone || !tokens[found.name + 1].is(";"))) continue;
        size_t end = found.name + 1;
        while (end < body.end && !tokens[end].is(";")) {
            const bool opens = tokens[end].is("(") || tokens[end].is("{") || tokens[end].is("[");
            end = opens ? tokens.closing(end) + 1 : end + 1;
        }
        statements.push_back({i + 1, end});
    }
    return statements;
}

int space_number(const Token& word) {
    return word.is("device") ? 1 : word.is("constant") ? 2 : word.is("threadgroup") ? 3 : 0;
}

std::string note(const Source& source, const Indirection& found) {
    const std::string_view name = source.tokens[found.name].text;
    const bool is_pointer = source.tokens[found.sign].is("*");
    return fmt::format(" ::ingot_msl::expect_space((const volatile void*){}{}, {}, \"{}\"); ",
                       is_pointer ? "" : "&", name, space_number(source.tokens[found.space]), name);
}

std::vector<Range> parameters_of(const Source& source, const Declaration& declaration) {
    return split_at_commas(source.tokens, {declaration.parameters.begin + 1, declaration.parameters.end - 1});
}

}  // namespace

Result<void> require_address_spaces(const Source& source) {
    const auto& declarations = source.outline.declarations();
    for (const Declaration& declaration : declarations) {
        if (declaration.kind == DeclarationKind::kFunction) {
            for (const Range parameter : parameters_of(source, declaration)) {
                const Indirection found = read_indirection(source, parameter.begin, parameter.end);
                if (has_unstated_space(found)) return unstated(source, found);
            }
            if (declaration.body.empty()) continue;
            for (const Range statement : pointer_statements(source, declaration.body)) {
                const Indirection found = read_indirection(source, statement.begin, statement.end);
                if (has_unstated_space(found)) return unstated(source, found);
            }
        } else if (declaration.kind == DeclarationKind::kOther && declaration.parent != kNone &&
                   declarations[declaration.parent].kind == DeclarationKind::kClass) {
            const Token& first = source.tokens[declaration.head];
            if (first.is("using") || first.is("typedef") || first.is("friend")) continue;
            const Indirection found = read_indirection(source, declaration.head, declaration.range.end);
            if (has_unstated_space(found)) return unstated(source, found);
        }
    }
    return {};
}

void note_declared_spaces(const Source& source, Edits& edits) {
    // Of functions that differ by space only, one body serves all.
    std::map<std::string, unsigned> overloads;
    for (const Declaration& declaration : source.outline.declarations()) {
        if (declaration.kind == DeclarationKind::kFunction && !declaration.body.empty()) {
            ++overloads[std::string(source.tokens[declaration.name].text)];
        }
    }
    for (const Declaration& declaration : source.outline.declarations()) {
        if (declaration.kind != DeclarationKind::kFunction || declaration.body.empty()) continue;
        for (const Range statement : pointer_statements(source, declaration.body)) {
            const Indirection found = read_indirection(source, statement.begin, statement.end);
            if (found.space != kNone && source.tokens[found.name + 1].is("=")) {
                edits.insert_after(statement.end, note(source, found));
            }
        }
        if (overloads[std::string(source.tokens[declaration.name].text)] > 1) continue;
        for (const Range parameter : parameters_of(source, declaration)) {
            const Indirection found = read_indirection(source, parameter.begin, parameter.end);
            if (found.space == kNone || found.sign == kNone || found.name == kNone ||
                found.name < found.sign) {
                continue;
            }
            edits.insert_after(declaration.body.begin, note(source, found));
        }
    }
}

}  // namespace ingot::metal::msl
