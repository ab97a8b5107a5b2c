// SentencePiece writes a space as U+2581, so that it can stand inside a token. A U+2581 that is in the text
// itself can't be told from a space afterwards.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

inline std::string mark_spaces(std::string_view text) {
    std::string out;
    out.reserve(text.size() + text.size() / 4);
    for (const char c : text) {
        if (c == ' ') {
            out += kSpaceMark;
        } else {
            out += c;
        }
    }
    return out;
}

inline std::string unmark_spaces(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const bool mark = text.substr(at).starts_with(kSpaceMark);
        out += mark ? ' ' : text[at];
        at += mark ? kSpaceMark.size() : 1;
    }
    return out;
}

}  // namespace ingot
