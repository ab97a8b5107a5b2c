// Against the examples of FIPS 180-4 and messages hashed by Python's hashlib, whose sizes surround a block's
// end.
#include "base/sha256.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace ingot {
namespace {

std::string hex_of(const std::string& text) {
    return to_hex(sha256(std::as_bytes(std::span(text))));
}

TEST(Sha256, PublishedExamples) {
    EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hex_of(""));
    EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hex_of("abc"));
    EXPECT_EQ("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
              hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
    EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
              hex_of(std::string(1'000'000, 'a')));
}

TEST(Sha256, SizesAroundABlock) {
    struct Case {
        size_t size;
        const char* hex;
    };
    const Case cases[] = {
        {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
        {57, "ae14a2563ccf969d99aca69ce6bb74981f734bbf9f655f73b8f06db68cab5217"},
        {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
        {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
        {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
        {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
        {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
        {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
    };
    for (const Case& one : cases) EXPECT_EQ(one.hex, hex_of(std::string(one.size, 'x'))) << one.size;
}

TEST(Sha256, PartsOfAnySizeGiveTheHashOfTheWhole) {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += char(i * 7);
    for (const size_t part : {1u, 3u, 63u, 64u, 65u, 200u}) {
        Sha256 hash;
        for (size_t at = 0; at < text.size(); at += part) {
            hash.add(std::as_bytes(std::span(text).subspan(at, std::min(part, text.size() - at))));
        }
        EXPECT_EQ(hex_of(text), to_hex(hash.finish())) << part;
    }
}

}  // namespace
}  // namespace ingot
