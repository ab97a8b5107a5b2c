// Oracles: Hugging Face tokenizers for the byte-pair vocabulary, sentencepiece for the other one, which both
// trained and encoded the strings (tools/oracle/make_tiny_vocabularies.py); and decode(encode(s)) == s on
// generated text.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "llm/text/utf8.h"
#include "llm/text/vocabulary_files.h"

namespace ingot::tokenizer_test {
namespace {

constexpr EncodeOptions kTextOnly{.add_special = false, .parse_special = false};
constexpr EncodeOptions kSpecialNames{.add_special = false, .parse_special = true};

void expect_golden(const std::string& name, EncodeOptions options) {
    const Tokenizer tokenizer = open_tokenizer(data_path(name + ".gguf"));
    const auto strings = golden_strings();
    const auto expected = golden_ids(name);
    ASSERT_EQ(strings.size(), expected.size());
    ASSERT_GE(strings.size(), 300u);
    for (size_t i = 0; i < strings.size(); ++i) {
        const auto ids = tokenizer.encode(strings[i], options);
        ASSERT_TRUE(ids) << ids.error().describe();
        EXPECT_EQ(expected[i], *ids) << strings[i];
    }
}

TEST(TokenizerGolden, BytePairIdsEqualThoseOfHuggingFace) {
    expect_golden("tiny-bpe", kSpecialNames);
}
TEST(TokenizerGolden, SentencePieceIdsEqualThoseOfSentencepiece) {
    expect_golden("tiny-spm", kTextOnly);
}

// Characters of every kind that the splitting rules tell apart, and stretches that look like special tokens.
std::string generated_text(const std::vector<uint8_t>& choices) {
    static const std::vector<std::string> kParts = {
        "a",      "B",          "the",        " ",           "  ",     "\n",     "\r\n",       "\t",
        "1",      "23",         ".",          "'s",          "(",      "\u00e9", "e\u0301",    "\u4f60",
        "\u0416", "\u0645",     "\u0e01",     "\u00a0",      "\u3000", "\u200d", "\U0001f600", "\U0001f1e9",
        "\ufe0f", "<|im_end|>", "<tool>",     "<tool_call>", "<s>",    "</s>",   "<0x41>",     "<|",
        "<unk>",  "\x01",       "\U0010ffff", "\U00020000"};
    std::string text;
    for (const uint8_t choice : choices) text += kParts[choice % kParts.size()];
    return text;
}

void check_round_trip(const std::string& name) {
    const Tokenizer tokenizer = open_tokenizer(data_path(name + ".gguf"));
    EXPECT_TRUE(
        rc::check("decode(encode(s)) == s", [&](const std::vector<uint8_t>& choices, bool parse_special) {
            const std::string text = generated_text(choices);
            const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = parse_special});
            RC_ASSERT(ids.has_value());
            RC_ASSERT(tokenizer.decode(*ids, true) == text);
            if (!parse_special) RC_ASSERT(tokenizer.decode(*ids, false) == text);
        }));
}

TEST(TokenizerRoundTrip, HoldsForBytePairs) {
    check_round_trip("tiny-bpe");
}
TEST(TokenizerRoundTrip, HoldsForSentencePiece) {
    check_round_trip("tiny-spm");
}

TEST(TokenizerRoundTrip, BosDoesntShowInTheDecodedText) {
    const Tokenizer tokenizer = open_tokenizer(data_path("tiny-spm.gguf"));
    for (const std::string text : {"hello", " hello", "  two", "", "\n"}) {
        const auto ids = tokenizer.encode(text);
        ASSERT_TRUE(ids);
        EXPECT_EQ(tokenizer.bos(), ids->front());
        EXPECT_EQ(text, tokenizer.decode(*ids));
    }
}

TEST(TokenizerRoundTrip, EveryCodePointSurvives) {
    for (const std::string name : {"tiny-bpe", "tiny-spm"}) {
        const Tokenizer tokenizer = open_tokenizer(data_path(name + ".gguf"));
        std::string text;
        for (char32_t point = 0; point < 0x110000; point += point < 0x3000 ? 1 : 97) {
            if ((point >= 0xD800 && point < 0xE000) || point == 0x2581) continue;
            append_utf8(text, point);
        }
        const auto ids = tokenizer.encode(text, kTextOnly);
        ASSERT_TRUE(ids) << ids.error().describe();
        EXPECT_EQ(text, tokenizer.decode(*ids)) << name;
    }
}

}  // namespace
}  // namespace ingot::tokenizer_test
