#include "llm/text/utf8.h"

#include <utf8proc.h>

namespace ingot {

std::optional<size_t> find_invalid_utf8(std::string_view text) {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    size_t at = 0;
    while (at < text.size()) {
        if (bytes[at] < 0x80) {
            ++at;
            continue;
        }
        utf8proc_int32_t code_point;
        const utf8proc_ssize_t left = static_cast<utf8proc_ssize_t>(text.size() - at);
        const utf8proc_ssize_t length = utf8proc_iterate(bytes + at, left, &code_point);
        if (length <= 0) return at;
        at += static_cast<size_t>(length);
    }
    return std::nullopt;
}

void append_utf8(std::string& out, char32_t code_point) {
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

}  // namespace ingot
