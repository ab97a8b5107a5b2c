#include "llm/text/jinja/unicode.h"

#include <algorithm>

#include <utf8proc.h>

namespace ingot::jinja {
namespace {

bool is_ascii(std::string_view text) {
    for (const char c : text) {
        if (static_cast<unsigned char>(c) >= 0x80) return false;
    }
    return true;
}

// What Python's str.isspace accepts: white space by bidirectional class or category.
bool is_space(char32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x1F);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
           code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_line_end(char32_t code) {
    return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

utf8proc_category_t category(char32_t code) {
    return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool is_alpha(utf8proc_category_t c) {
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_numeric(utf8proc_category_t c) {
    return c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;
}

bool is_decimal(char32_t code) {
    return category(code) == UTF8PROC_CATEGORY_ND;
}

// Unicode encodes the decimal digits of a script next to each other, from 0 to 9.
char32_t decimal_value(char32_t code) {
    char32_t before = 0;
    while (is_decimal(code - before - 1)) ++before;
    return before % 10;
}

bool is_printable(char32_t code) {
    switch (category(code)) {
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return false;
        case UTF8PROC_CATEGORY_ZS:
            return code == ' ';
        default:
            return true;
    }
}

template <typename Map>
std::string map_chars(std::string_view text, Map map) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) append_char(out, map(next_char(text, i)));
    return out;
}

char32_t lower_char(char32_t c) {
    return static_cast<char32_t>(utf8proc_tolower(static_cast<int32_t>(c)));
}
char32_t upper_char(char32_t c) {
    return static_cast<char32_t>(utf8proc_toupper(static_cast<int32_t>(c)));
}

char32_t title_char(char32_t c) {
    return static_cast<char32_t>(utf8proc_totitle(static_cast<int32_t>(c)));
}

struct Folded {
    char32_t chars[4];
    size_t size = 0;
};

// The letters that a lower- or title-case character is made of, where Unicode (SpecialCasing) has no single
// upper-case one for it: those of its full case folding. Of all others none.
Folded several_letters(char32_t code) {
    Folded folded{};
    if (code < 0x80 || category(code) == UTF8PROC_CATEGORY_LU) return folded;
    utf8proc_int32_t chars[4];
    int boundary = 0;
    const auto size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), chars, std::size(chars),
                                              UTF8PROC_CASEFOLD, &boundary);
    if (size < 2 || size > static_cast<utf8proc_ssize_t>(std::size(chars))) return folded;
    folded.size = static_cast<size_t>(size);
    std::copy_n(chars, folded.size, folded.chars);
    return folded;
}

bool contains_char(std::string_view chars, char32_t code) {
    for (size_t i = 0; i < chars.size();) {
        if (next_char(chars, i) == code) return true;
    }
    return false;
}

bool strippable(char32_t code, const std::string_view* chars) {
    return chars ? contains_char(*chars, code) : is_space(code);
}

}  // namespace

char32_t next_char(std::string_view text, size_t& offset) {
    const auto byte = [&](size_t i) {
        return static_cast<char32_t>(static_cast<unsigned char>(text[offset + i]));
    };
    const char32_t lead = byte(0);
    if (lead < 0x80) return ++offset, lead;
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (offset + length > text.size()) return offset = text.size(), U'\uFFFD';
    char32_t code = lead & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; ++i) code = (code << 6) | (byte(i) & 0x3F);
    offset += length;
    return code;
}

void append_char(std::string& out, char32_t code) {
    utf8proc_uint8_t bytes[4];
    const auto length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

size_t count_chars(std::string_view text) {
    size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
}

size_t byte_offset(std::string_view text, size_t index) {
    for (size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
        if (index-- == 0) return i;
    }
    return text.size();
}

std::vector<std::string_view> split_chars(std::string_view text) {
    std::vector<std::string_view> chars;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        next_char(text, i);
        chars.push_back(text.substr(start, i - start));
    }
    return chars;
}

bool char_is(char32_t code, CharClass what) {
    const auto c = category(code);
    switch (what) {
        case CharClass::kAlpha:
            return is_alpha(c);
        case CharClass::kDecimal:
            return is_decimal(code);
        case CharClass::kDigit:  // superscripts and the circled digits count as digits too
            return c == UTF8PROC_CATEGORY_ND || code == 0xB2 || code == 0xB3 || code == 0xB9 ||
                   (code >= 0x2070 && code <= 0x2089 && c == UTF8PROC_CATEGORY_NO) ||
                   (code >= 0x2460 && code <= 0x2468);
        case CharClass::kNumeric:
            return is_numeric(c);
        case CharClass::kAlnum:
            return is_alpha(c) || is_numeric(c);
        case CharClass::kSpace:
            return is_space(code);
        case CharClass::kLower:
            return c == UTF8PROC_CATEGORY_LL || utf8proc_islower(static_cast<int32_t>(code)) != 0;
        case CharClass::kUpper:
            return c == UTF8PROC_CATEGORY_LU || utf8proc_isupper(static_cast<int32_t>(code)) != 0;
        case CharClass::kTitle:
            return c == UTF8PROC_CATEGORY_LT;
        case CharClass::kPrintable:
            return is_printable(code);
        case CharClass::kWord:
            return is_alpha(c) || is_numeric(c) || code == '_';
    }
    return false;
}

bool all_chars_are(std::string_view text, CharClass what) {
    for (size_t i = 0; i < text.size();) {
        if (!char_is(next_char(text, i), what)) return false;
    }
    return !text.empty();
}

size_t last_char_start(std::string_view text) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    return start;
}

std::string_view strip_left(std::string_view text, const std::string_view* chars) {
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        if (!strippable(next_char(text, i), chars)) return text.substr(start);
    }
    return text.substr(text.size());
}

std::string_view strip_right(std::string_view text, const std::string_view* chars) {
    while (!text.empty()) {
        const size_t start = last_char_start(text);
        size_t offset = start;
        if (!strippable(next_char(text, offset), chars)) break;
        text = text.substr(0, start);
    }
    return text;
}

std::string ascii_digits(std::string_view text) {
    return map_chars(text,
                     [](char32_t c) { return c < 0x80 || !is_decimal(c) ? c : U'0' + decimal_value(c); });
}

std::string to_lower(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        const char32_t code = next_char(text, i);
        if (code == 0x130) {  // the only character whose lower case is two characters
            out += "i\u0307";
        } else if (code == 0x3A3) {  // a final sigma looks different
            const bool after_letter = start > 0 && [&] {
                size_t back = last_char_start(text.substr(0, start));
                return char_is(next_char(text, back), CharClass::kAlpha);
            }();
            size_t ahead = i;
            const bool before_letter = i < text.size() && char_is(next_char(text, ahead), CharClass::kAlpha);
            append_char(out, after_letter && !before_letter ? 0x3C2 : 0x3C3);
        } else {
            append_char(out, lower_char(code));
        }
    }
    return out;
}

std::string to_upper(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
        const char32_t code = next_char(text, i);
        const Folded folded = several_letters(code);
        if (folded.size == 0) append_char(out, upper_char(code));
        for (size_t k = 0; k < folded.size; ++k) append_char(out, upper_char(folded.chars[k]));
    }
    return out;
}

std::string to_folded(std::string_view text) {
    if (is_ascii(text)) return map_chars(text, lower_char);
    utf8proc_uint8_t* folded = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &folded, UTF8PROC_CASEFOLD);
    std::string out = length >= 0 ? std::string(reinterpret_cast<char*>(folded), static_cast<size_t>(length))
                                  : to_lower(text);
    free(folded);
    return out;
}

std::string to_capitalized(std::string_view text) {
    if (text.empty()) return {};
    size_t first_end = 0;
    const char32_t first = next_char(text, first_end);
    std::string out;
    const char32_t title = title_char(first);
    const Folded folded = category(title) == UTF8PROC_CATEGORY_LT ? Folded{} : several_letters(first);
    if (folded.size == 0) append_char(out, title);
    bool done = false;  // only the first one that has a case
    for (size_t k = 0; k < folded.size; ++k) {
        const char32_t one = done ? folded.chars[k] : title_char(folded.chars[k]);
        // The iota that a Greek vowel has below it stays there.
        append_char(out, done && one == 0x3B9 ? 0x345 : one);
        done |= one != folded.chars[k];
    }
    return out + to_lower(text.substr(first_end));
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
    std::vector<std::string_view> lines;
    size_t start = 0;
    for (size_t i = 0; i < text.size();) {
        const size_t end = i;
        const char32_t code = next_char(text, i);
        if (!is_line_end(code)) continue;
        if (code == '\r' && i < text.size() && text[i] == '\n') ++i;
        lines.push_back(text.substr(start, (keep_ends ? i : end) - start));
        start = i;
    }
    if (start < text.size()) lines.push_back(text.substr(start));
    return lines;
}

}  // namespace ingot::jinja
