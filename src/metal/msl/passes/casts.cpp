#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

bool is_any_of(const Token& token, std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) {
        if (token.is(text)) return true;
    }
    return false;
}

bool is_sixteen_bit_float(const Token& token) {
    return is_any_of(token, {"half", "bfloat"});
}

bool starts_type(const Token& token) {
    return is_sixteen_bit_float(token) ||
           is_any_of(token, {"float", "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong",
                             "bool", "void", "const", "thread", "device", "constant", "threadgroup"});
}

bool starts_operand(const Token& token) {
    return token.is_word() || token.kind == TokenKind::kNumber ||
           is_any_of(token, {"(", "-", "+", "~", "!", "*", "&"});
}

// Whether a "(" after this token opens a cast and no list of parameters or arguments.
bool precedes_cast(const Token& token) {
    if (token.is_word()) return is_any_of(token, {"return", "case", "else", "do"});
    return !is_any_of(token, {")", "]"}) && token.kind != TokenKind::kString;
}

// Behind the unary expression that starts at i.
size_t operand_end(const Tokens& tokens, size_t i) {
    while (is_any_of(tokens[i], {"-", "+", "~", "!", "*", "&"})) ++i;
    if (tokens[i].is("(")) {
        const size_t close = tokens.closing(i);
        // "(half)x" inside "(half)(half)x".
        if (close == i + 2 && starts_type(tokens[i + 1])) return operand_end(tokens, close + 1);
        i = close;
    }
    ++i;
    while (i < tokens.size()) {
        const size_t angle = tokens[i].is("<") ? tokens.closing_angle(i) : tokens.size();
        if (is_any_of(tokens[i], {".", "->", "::"})) {
            i += 2;
        } else if (is_any_of(tokens[i], {"(", "["})) {
            i = tokens.closing(i) + 1;
        } else if (is_any_of(tokens[i], {"++", "--"})) {
            ++i;
        } else if (angle < tokens.size() && is_any_of(tokens[angle + 1], {"(", "::", "{"})) {
            i = angle + 1;
        } else {
            break;
        }
    }
    return i;
}

// half(x), but no "half(x);" as a statement, no function type half(float), no value from nothing.
bool is_function_style_cast(const Tokens& tokens, size_t i) {
    if (!tokens[i + 1].is("(")) return false;
    const size_t close = tokens.closing(i + 1);
    if (close >= tokens.size() || close == i + 2) return false;
    const Token& first = tokens[i + 2];
    if (is_any_of(first, {"*", "&", "..."}) && is_any_of(tokens[close + 1], {"(", ")", "["})) return false;
    if (starts_type(first) && !is_any_of(tokens[i + 3], {"(", "{"})) return false;
    if (i == 0) return false;
    const Token& before = tokens[i - 1];
    if (is_any_of(before, {";", "{", "}"}) && is_any_of(tokens[close + 1], {"=", ";"})) return false;
    return !is_any_of(before, {"operator", ".", "->", "::", "new", "const", "thread", "device", "constant"});
}

// half h(x); in a function's body.
void rewrite_initialisers(const Source& source, Range body, Edits& edits) {
    const Tokens& tokens = source.tokens;
    for (size_t i = body.begin + 1; i + 3 < body.end; ++i) {
        if (!is_sixteen_bit_float(tokens[i]) || !tokens[i + 1].is_word() || !tokens[i + 2].is("(")) continue;
        const size_t close = tokens.closing(i + 2);
        if (close == i + 3 || starts_type(tokens[i + 3]) || !is_any_of(tokens[close + 1], {";", ","}))
            continue;
        edits.insert_after(i + 2, "::metal::ingot_cast<" + std::string(tokens[i].text) + ">(");
        edits.insert_before(close, ")");
    }
}

}  // namespace

void rewrite_casts(const Source& source, Edits& edits) {
    const Tokens& tokens = source.tokens;
    for (const Declaration& declaration : source.outline.declarations()) {
        if (declaration.kind == DeclarationKind::kFunction)
            rewrite_initialisers(source, declaration.body, edits);
    }
    size_t behind_cast = 0;  // "(half)" may be followed by another
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].is("static_cast")) {
            edits.replace(i, "::metal::ingot_cast");
        } else if (is_sixteen_bit_float(tokens[i]) && is_function_style_cast(tokens, i)) {
            edits.replace(i, "::metal::ingot_cast<" + std::string(tokens[i].text) + ">");
        } else if (i > 0 && tokens[i].is("(") && tokens[i + 2].is(")") &&
                   is_sixteen_bit_float(tokens[i + 1]) &&
                   (i == behind_cast || precedes_cast(tokens[i - 1])) && starts_operand(tokens[i + 3])) {
            const size_t end = operand_end(tokens, i + 3);
            edits.replace(i, "::metal::ingot_cast<");
            edits.replace(i + 2, ">(");
            edits.insert_after(end - 1, ")");
            behind_cast = i + 3;
        }
    }
}

}  // namespace ingot::metal::msl
