#include "base/quoted.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Quoted, TextThatIsPrintableStaysAsItIs) {
    EXPECT_EQ("'blk.0.attn_q.weight'", quoted("blk.0.attn_q.weight"));
    EXPECT_EQ("'gr\u00fcn \u4f60 \U0001F600'", quoted("gr\u00fcn \u4f60 \U0001F600"));
    EXPECT_EQ("''", quoted(""));
}

TEST(Quoted, ControlCharactersAreEscaped) {
    EXPECT_EQ("'a\\nb\\tc\\x1b[31m\\x7f\\x00'", quoted(std::string_view("a\nb\tc\x1b[31m\x7f\0", 12)));
    EXPECT_EQ("'\\xc2\\x9b31m'", quoted("\u009b31m"));  // C1: another way to start an escape sequence
}

TEST(Quoted, BytesThatAreNotUtf8AreEscaped) {
    EXPECT_EQ("'\\xff'", quoted("\xff"));
    EXPECT_EQ("'\\xe4\\xbd'", quoted("\xe4\xbd"));           // cut short
    EXPECT_EQ("'\\xc0\\xaf'", quoted("\xc0\xaf"));           // overlong
    EXPECT_EQ("'\\xed\\xa0\\x80'", quoted("\xed\xa0\x80"));  // surrogate
    EXPECT_EQ("'\\xf4\\x90\\x80\\x80'", quoted("\xf4\x90\x80\x80"));
    EXPECT_EQ("'\\x80a'", quoted("\x80"
                                 "a"));
}

TEST(Quoted, LongTextIsCutBetweenCharacters) {
    EXPECT_EQ("'aaaa...' (10 bytes)", quoted(std::string(10, 'a'), 4));
    EXPECT_EQ("'\u4f60...' (6 bytes)", quoted("\u4f60\u597d", 5));
    EXPECT_EQ("aaaa...", printable(std::string(10, 'a'), 4));
    EXPECT_EQ("aaaa", printable("aaaa", 4));
}

}  // namespace
}  // namespace ingot
