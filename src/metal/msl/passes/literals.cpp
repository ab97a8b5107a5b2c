#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

bool is_floating(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    return text.find_first_of(hexadecimal ? ".pP" : ".eE") != std::string_view::npos;
}

// A digit, a point or an exponent at the end: nothing says which type.
bool has_no_suffix(std::string_view text) {
    const char last = text.back();
    return (last >= '0' && last <= '9') || last == '.';
}

}  // namespace

void give_literals_float(const Source& source, Edits& edits) {
    for (size_t i = 0; i < source.tokens.size(); ++i) {
        const Token& token = source.tokens[i];
        if (token.kind != TokenKind::kNumber || !is_floating(token.text) || !has_no_suffix(token.text))
            continue;
        edits.insert_after(i, "f");
    }
}

}  // namespace ingot::metal::msl
