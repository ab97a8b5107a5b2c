#include <array>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {
namespace {

std::string_view trim(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return "";
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The preprocessor leaves macros in pragmas as they are, so a count that isn't a number can't be understood
// later; unrolling is a hint that may go.
bool is_plain_count(std::string_view arguments) {
    return arguments.find_first_not_of(" \t()0123456789") == std::string_view::npos;
}

// Only what is known to be harmless reaches the compiler.
bool is_kept(std::string_view line) {
    line = trim(line.substr(line.find("pragma") + 6));
    if (line.starts_with("unroll")) return is_plain_count(line.substr(6));
    constexpr std::array<std::string_view, 4> kKept{"nounroll", "clang loop", "clang fp", "STDC FP_CONTRACT"};
    for (const std::string_view kept : kKept) {
        if (line.starts_with(kept)) return true;
    }
    return false;
}

}  // namespace

void drop_pragmas(const Source& source, Edits& edits) {
    for (size_t i = 0; i <= source.tokens.size(); ++i) {
        const std::string_view leading = source.tokens[i].leading;
        if (leading.find("pragma") == std::string_view::npos) continue;
        std::string kept;
        for (size_t at = 0; at < leading.size();) {
            const size_t end = std::min(leading.find('\n', at), leading.size());
            const std::string_view line = leading.substr(at, end - at);
            const bool is_pragma =
                trim(line).starts_with("#") && line.find("pragma") != std::string_view::npos;
            if (!is_pragma || is_kept(line)) kept += line;
            if (end < leading.size()) kept += '\n';
            at = end + 1;
        }
        edits.replace_leading(i, std::move(kept));
    }
}

}  // namespace ingot::metal::msl
