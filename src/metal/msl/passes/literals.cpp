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

// Suffixes that C++ reserves, and what the library's header calls them (types.h).
struct Suffix {
    std::string_view metal, cxx;
};
constexpr Suffix kSuffixes[] = {{"bf", "_bf"}, {"BF", "_bf"}, {"H", "h"}};

}  // namespace

void give_literals_float(const Source& source, Edits& edits) {
    for (size_t i = 0; i < source.tokens.size(); ++i) {
        const Token& token = source.tokens[i];
        if (token.kind != TokenKind::kNumber || !is_floating(token.text)) continue;
        if (has_no_suffix(token.text)) edits.insert_after(i, "f");
        for (const Suffix& suffix : kSuffixes) {
            if (!token.text.ends_with(suffix.metal)) continue;
            const auto number = token.text.substr(0, token.text.size() - suffix.metal.size());
            edits.replace(i, fmt::format("{}{}", number, suffix.cxx));
            break;
        }
    }
}

}  // namespace ingot::metal::msl
