#include "base/quoted.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace ingot {
namespace {

// C0, DEL and C1.
bool is_control(std::string_view character) {
    const auto first = uint8_t(character[0]);
    return first < 0x20 || first == 0x7F || (first == 0xC2 && uint8_t(character[1]) < 0xA0);
}

void append_escaped(std::string& out, std::string_view bytes) {
    for (const char c : bytes) {
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else {
            out += fmt::format("\\x{:02x}", uint8_t(c));
        }
    }
}

struct Shown {
    std::string text;
    bool whole;
};

Shown show(std::string_view text, size_t max_bytes) {
    std::string out;
    size_t at = 0;
    while (at < text.size()) {
        const size_t length = utf8_character_bytes(text.substr(at));
        const size_t taken = std::max<size_t>(length, 1);
        if (at + taken > max_bytes) break;
        const std::string_view character = text.substr(at, taken);
        if (length == 0 || is_control(character)) {
            append_escaped(out, character);
        } else {
            out += character;
        }
        at += taken;
    }
    return {std::move(out), at == text.size()};
}

}  // namespace

std::string printable(std::string_view text, size_t max_bytes) {
    const Shown shown = show(text, max_bytes);
    return shown.whole ? shown.text : shown.text + "...";
}

std::string quoted(std::string_view text, size_t max_bytes) {
    const Shown shown = show(text, max_bytes);
    if (shown.whole) return fmt::format("'{}'", shown.text);
    return fmt::format("'{}...' ({} bytes)", shown.text, text.size());
}

}  // namespace ingot
