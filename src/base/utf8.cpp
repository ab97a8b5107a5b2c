#include "base/utf8.h"

#include <cstdint>

namespace ingot {

size_t utf8_character_bytes(std::string_view text) {
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

}  // namespace ingot
