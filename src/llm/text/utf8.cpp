#include "llm/text/utf8.h"

#include <utf8proc.h>

#include "base/utf8.h"

namespace ingot {

std::optional<size_t> find_invalid_utf8(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t bytes = utf8_character_bytes(text.substr(at));
        if (bytes == 0) return at;
        at += bytes;
    }
    return std::nullopt;
}

void append_utf8(std::string& out, char32_t code_point) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

}  // namespace ingot
