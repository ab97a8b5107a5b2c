// Python's view of text, on UTF-8 that is known to be valid: characters are code points, their properties
// come from utf8proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::jinja {

// Reads the code point at `offset` and moves past it.
char32_t next_char(std::string_view text, size_t& offset);
void append_char(std::string& out, char32_t code);
size_t count_chars(std::string_view text);
// Byte offset of character `index`; text.size() for index == count_chars(text).
size_t byte_offset(std::string_view text, size_t index);
size_t last_char_start(std::string_view text);  // of text that isn't empty
std::vector<std::string_view> split_chars(std::string_view text);

enum class CharClass {
    kAlpha,
    kDecimal,
    kDigit,
    kNumeric,
    kAlnum,
    kSpace,
    kLower,
    kUpper,
    kTitle,
    kPrintable,
    kWord
};
bool char_is(char32_t code, CharClass what);
// 0 to 9, as the language's own numbers are written.
constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
// True if the text isn't empty and all of it is of the class.
bool all_chars_are(std::string_view text, CharClass what);

// With `chars` empty: white space as Python defines it.
std::string_view strip_left(std::string_view text, const std::string_view* chars = nullptr);
std::string_view strip_right(std::string_view text, const std::string_view* chars = nullptr);

// Decimal digits of any script as 0 to 9, the rest as it is.
std::string ascii_digits(std::string_view text);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_folded(std::string_view text);
std::string to_capitalized(std::string_view text);  // first character title case, the rest lower case
// Line ends as str.splitlines knows them.
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);

}  // namespace ingot::jinja
