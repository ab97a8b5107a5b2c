#include "base/quoted.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace ingot {
namespace {

// Bytes of the well-formed UTF-8 character at the start of `text` (Unicode, table 3-7), 0 if there is none.
size_t character_length(std::string_view text) {
    const auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
    const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const uint8_t first = byte(0), second = byte(1);
    if (text.empty()) return 0;
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const bool overlong = first == 0xE0 && second < 0xA0;
        const bool surrogate = first == 0xED && second > 0x9F;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool outside = (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
        return continues(1) && continues(2) && continues(3) && !outside ? 4 : 0;
    }
    return 0;
}

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
        const size_t length = character_length(text.substr(at));
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
