#include <gtest/gtest.h>

#include "llm/text/tokenizer.h"

namespace ingot {
namespace {

TEST(Utf8Stream, HoldsAMultiByteCharacterUntilItIsWhole) {
    const std::string text = "a\u00e9\u4f60\U0001F600z";
    Utf8Stream stream;
    std::string joined;
    for (const char byte : text) {
        const std::string part = stream.push({&byte, 1});
        EXPECT_TRUE(part.empty() || (part[0] & 0xC0) != 0x80) << "a piece starts inside a character";
        joined += part;
    }
    EXPECT_EQ(text, joined);
    EXPECT_EQ("", stream.flush());
}

TEST(Utf8Stream, PassesInvalidBytesAndFlushesAnIncompleteTail) {
    Utf8Stream stream;
    EXPECT_EQ("\xFFx", stream.push("\xFFx"));
    EXPECT_EQ("", stream.push("\xE4\xBD"));
    EXPECT_EQ("\xE4\xBD", stream.flush());
}

}  // namespace
}  // namespace ingot
