#include "llm/text/byte_alphabet.h"

#include <utf8proc.h>

#include "llm/text/utf8.h"

namespace ingot {
namespace {

constexpr size_t kNumCharacters = 0x144;  // one past the last character of the alphabet
static_assert(kByteAlphabet[0xAD] == kNumCharacters - 1);

constexpr std::array<int16_t, kNumCharacters> kByteOfCharacter = [] {
    std::array<int16_t, kNumCharacters> bytes{};
    for (int16_t& byte : bytes) byte = -1;
    for (size_t byte = 0; byte < 256; ++byte) bytes[kByteAlphabet[byte]] = static_cast<int16_t>(byte);
    return bytes;
}();

}  // namespace

std::string to_byte_alphabet(std::string_view bytes) {
    std::string out;
    out.reserve(2 * bytes.size());
    for (const char byte : bytes) append_utf8(out, kByteAlphabet[static_cast<unsigned char>(byte)]);
    return out;
}

std::optional<std::string> from_byte_alphabet(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    const auto* data = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
    for (size_t at = 0; at < text.size();) {
        utf8proc_int32_t character;
        const auto length =
            utf8proc_iterate(data + at, static_cast<utf8proc_ssize_t>(text.size() - at), &character);
        if (length <= 0 || static_cast<size_t>(character) >= kNumCharacters) return std::nullopt;
        const int16_t byte = kByteOfCharacter[static_cast<size_t>(character)];
        if (byte < 0) return std::nullopt;
        bytes += static_cast<char>(byte);
        at += static_cast<size_t>(length);
    }
    return bytes;
}

}  // namespace ingot
