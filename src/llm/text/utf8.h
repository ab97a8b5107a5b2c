// Small helpers on UTF-8 text. Character properties are the business of PCRE2 (pre_tokenizer.cpp); joining
// token pieces to whole characters is Utf8Stream (tokenizer.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

// Offset of the first byte that doesn't belong to valid UTF-8 (overlong forms and surrogates don't either).
std::optional<size_t> find_invalid_utf8(std::string_view text);

// Bytes of the character that starts with `lead`, in text that is valid.
inline size_t utf8_length(char lead) {
    const auto byte = static_cast<unsigned char>(lead);
    if (byte < 0x80) return 1;
    if (byte < 0xE0) return 2;
    return byte < 0xF0 ? 3 : 4;
}

void append_utf8(std::string& out, char32_t code_point);

}  // namespace ingot
