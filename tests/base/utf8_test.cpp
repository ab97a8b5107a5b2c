#include "base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace ingot {
namespace {

// As RFC 3629 defines it: the bits of a code point behind the marks of lead and continuation bytes.
std::string encoded(uint32_t code) {
    if (code < 0x80) return {char(code)};
    if (code < 0x800) return {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
    if (code < 0x10000)
        return {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
    return {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 0x3F)), char(0x80 | (code >> 6 & 0x3F)),
            char(0x80 | (code & 0x3F))};
}

TEST(Utf8, TakesEveryCodePointButSurrogatesWhateverFollows) {
    for (uint32_t code = 0; code <= 0x1FFFFF; ++code) {
        const std::string text = encoded(code);
        const bool valid = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
        ASSERT_EQ(valid ? text.size() : 0, utf8_character_bytes(text)) << code;
        ASSERT_EQ(valid ? text.size() : 0, utf8_character_bytes(text + "\x80")) << code;
    }
}

TEST(Utf8, RefusesTextThatEndsInsideACharacter) {
    EXPECT_EQ(0u, utf8_character_bytes(""));
    for (const uint32_t code : {0x80u, 0x7FFu, 0x800u, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
        const std::string text = encoded(code);
        for (size_t length = 1; length < text.size(); ++length) {
            EXPECT_EQ(0u, utf8_character_bytes(text.substr(0, length))) << code;
            EXPECT_EQ(0u, utf8_character_bytes(text.substr(0, length) + "a")) << code;
        }
    }
}

TEST(Utf8, RefusesOverlongFormsAndBytesThatBeginNothing) {
    for (const char* bytes : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80",
                              "\xF0\x8F\xBF\xBF", "\x80", "\xBF", "\xF5\x80\x80\x80", "\xFE", "\xFF"})
        EXPECT_EQ(0u, utf8_character_bytes(bytes)) << bytes;
}

}  // namespace
}  // namespace ingot
