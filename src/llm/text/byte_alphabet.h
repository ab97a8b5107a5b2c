// GPT-2's alphabet: each byte as one printable character, so that vocabulary files hold text. Printable bytes
// of Latin-1 stand for themselves, the others for the characters from U+0100 on, in order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

constexpr std::array<char32_t, 256> kByteAlphabet = [] {
    std::array<char32_t, 256> alphabet{};
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
        const bool printable =
            (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        alphabet[byte] = printable ? byte : next++;
    }
    return alphabet;
}();

// "Ġhello" for " hello".
std::string to_byte_alphabet(std::string_view bytes);
// The bytes that `text` stands for; nothing if a character of it is none of the alphabet's.
std::optional<std::string> from_byte_alphabet(std::string_view text);

}  // namespace ingot
