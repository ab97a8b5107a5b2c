// Small vocabularies whose right ids can be told by hand: special tokens, prefixes, BOS and EOS, pieces, and
// the cost of long texts by a counter of operations.
#include "llm/text/tokenizer.h"

#include "llm/text/encode_work.h"
#include "llm/text/vocabulary_files.h"

namespace ingot::tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr EncodeOptions kBare{.add_special = false, .parse_special = true};
constexpr EncodeOptions kPlain{.add_special = false, .parse_special = false};

Ids encode(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
    const auto ids = tokenizer.encode(text, options);
    EXPECT_TRUE(ids) << ids.error().describe();
    return ids ? *ids : Ids{};
}

Tokenizer load(const VocabularyFile& file) {
    auto tokenizer = file.load();
    EXPECT_TRUE(tokenizer) << tokenizer.error().describe();
    return *std::move(tokenizer);
}

// Ids: a b c ab abc Ġ <bos> <eos> <x> <xy>
VocabularyFile small_bpe() {
    VocabularyFile file;
    for (const char* token : {"a", "b", "c", "ab", "abc", "\u0120"}) file.add(token);
    file.add("<bos>", 3);
    file.add("<eos>", 3);
    file.add("<x>", 4);
    file.add("<x><y>", 4);
    file.merges = {"a b", "ab c"};
    file.more = {{"tokenizer.ggml.bos_token_id", id_value(6)}, {"tokenizer.ggml.eos_token_id", id_value(7)}};
    return file;
}

VocabularyFile with(VocabularyFile file, std::string key, gguf::Value value) {
    file.more.emplace_back(std::move(key), std::move(value));
    return file;
}

TEST(Tokenizer, TrapOneBosNeverTwo) {
    const Tokenizer tokenizer = load(with(small_bpe(), "tokenizer.ggml.add_bos_token", flag_value(true)));
    EXPECT_TRUE(tokenizer.adds_bos());
    EXPECT_THAT(encode(tokenizer, "abc"), ElementsAre(6, 4));
    EXPECT_THAT(encode(tokenizer, "<bos>abc"), ElementsAre(6, 4));
    EXPECT_THAT(encode(tokenizer, ""), ElementsAre(6));
    EXPECT_THAT(encode(tokenizer, "abc", kBare), ElementsAre(4));
    EXPECT_THAT(encode(tokenizer, "<bos>abc", kBare), ElementsAre(6, 4));

    const Tokenizer spm = load(spm_file({"\u2581a"}));
    EXPECT_THAT(encode(spm, "<s>a"), ElementsAre(1, 259));
    EXPECT_THAT(encode(spm, "a"), ElementsAre(1, 259));
}

TEST(Tokenizer, OneEosNeverTwo) {
    const Tokenizer tokenizer = load(with(small_bpe(), "tokenizer.ggml.add_eos_token", flag_value(true)));
    EXPECT_FALSE(tokenizer.adds_bos());
    EXPECT_THAT(encode(tokenizer, "abc"), ElementsAre(4, 7));
    EXPECT_THAT(encode(tokenizer, "abc<eos>"), ElementsAre(4, 7));
}

TEST(Tokenizer, TrapSpecialTokensInTextAreWhole) {
    const Tokenizer tokenizer = load(small_bpe());
    EXPECT_THAT(encode(tokenizer, "ab<eos>c<bos>"), ElementsAre(3, 7, 2, 6));
    // The longest one wins, also after the start of another one.
    EXPECT_THAT(encode(tokenizer, "<x><y><x>a"), ElementsAre(9, 8, 0));
}

TEST(Tokenizer, NamesInPlainTextNeverBecomeControlTokens) {
    for (const std::string name : {"tiny-bpe", "tiny-spm"}) {
        const Tokenizer tokenizer = open_tokenizer(data_path(name + ".gguf"));
        for (const std::string text : {"<|im_end|>", "x<|endoftext|>", "<s>", "</s>", "<unk>", " <s> </s>"}) {
            for (const TokenId id : encode(tokenizer, text, kPlain)) {
                EXPECT_FALSE(tokenizer.is_control(id)) << name << ": " << text << " holds " << id;
            }
        }
    }
    // Though the texts would merge to them.
    VocabularyFile file = spm_file({"<", ">", "s", "<s", "0", "x", "4", "1", "<0", "<0x", "<0x4", "<0x41"});
    file.more = {{"tokenizer.ggml.add_space_prefix", flag_value(false)}};
    const Tokenizer spm = load(file);
    EXPECT_THAT(encode(spm, "<s>", kPlain), ElementsAre(spm.find("<s"), spm.find(">")));
    EXPECT_THAT(encode(spm, "<0x41>", kPlain), ElementsAre(spm.find("<0x41"), spm.find(">")));
}

TEST(Tokenizer, TrapSpacesAfterASpecialToken) {
    VocabularyFile file = spm_file({"\u2581", "a", "\u2581a"});
    file.add("<|user|>", 3);
    const TokenId user = 262, space = 259, space_a = 261;
    const Tokenizer kept = load(file);
    // Each text after a special token gets a space of its own in front; decoding takes it away.
    EXPECT_THAT(encode(kept, "a<|user|>a", kBare), ElementsAre(space_a, user, space_a));
    EXPECT_THAT(encode(kept, "<|user|> a", kBare), ElementsAre(user, space, space_a));
    EXPECT_EQ("a<|user|> a", kept.decode(encode(kept, "a<|user|> a", kBare), true));

    // Phi-3's special tokens swallow the white space behind them, <s> doesn't.
    file.more = {{"general.name", text_value("Phi-3 mini")}};
    const Tokenizer swallowed = load(file);
    EXPECT_THAT(encode(swallowed, "<|user|> \n\t a", kBare), ElementsAre(user, space_a));
    EXPECT_THAT(encode(swallowed, "a<s> a", kBare), ElementsAre(space_a, 1, space, space_a));
}

TEST(Tokenizer, NoSpacePrefixWhereTheFileSaysSo) {
    VocabularyFile file = spm_file({"\u2581", "a", "\u2581a"});
    file.more = {{"tokenizer.ggml.add_space_prefix", flag_value(false)}};
    const Tokenizer tokenizer = load(file);
    EXPECT_THAT(encode(tokenizer, "a"), ElementsAre(1, 260));
    EXPECT_THAT(encode(tokenizer, " a"), ElementsAre(1, 261));
    EXPECT_EQ(" a", tokenizer.decode({1, 261}));
}

TEST(Tokenizer, ScoresDecideAndBytesFillTheGaps) {
    const Tokenizer tokenizer = load(spm_file({"\u2581", "a", "b", "c", "bc", "ab"}));
    const TokenId space = 259, a = 260, c = 262, bc = 263, ab = 264;
    EXPECT_THAT(encode(tokenizer, "abc", kPlain), ElementsAre(space, a, bc));
    EXPECT_THAT(encode(tokenizer, "abab", kPlain), ElementsAre(space, ab, ab));
    EXPECT_THAT(encode(tokenizer,
                       "\u00e9"
                       "c",
                       kPlain),
                ElementsAre(space, 3 + 0xC3, 3 + 0xA9, c));
    EXPECT_EQ(
        "\u00e9"
        "c",
        tokenizer.decode({space, 3 + 0xC3, 3 + 0xA9, c}));
    EXPECT_EQ("\xC3", tokenizer.piece(3 + 0xC3));
}

TEST(Tokenizer, EarlierMergesGoFirstThenTheLeftmost) {
    VocabularyFile file;
    for (const char* token : {"a", "b", "aa", "ab"}) file.add(token);
    file.merges = {"a a", "a b"};
    EXPECT_THAT(encode(load(file), "aaab"), ElementsAre(2, 3));
    file.merges = {"a b", "a a"};
    EXPECT_THAT(encode(load(file), "aaab"), ElementsAre(2, 3));
    EXPECT_THAT(encode(load(file), "aab"), ElementsAre(0, 3));
    EXPECT_THAT(encode(load(file), "aaaaa"), ElementsAre(2, 2, 0));
}

TEST(Tokenizer, MergesMayPassThroughTextsThatAreNoTokens) {
    VocabularyFile file;
    for (const char* token : {"a", "b", "c", "abc"}) file.add(token);
    file.merges = {"a b", "ab c"};
    const Tokenizer tokenizer = load(file);
    EXPECT_THAT(encode(tokenizer, "abc"), ElementsAre(3));
    EXPECT_THAT(encode(tokenizer, "abab"), ElementsAre(0, 1, 0, 1));
}

TEST(Tokenizer, AByteWithoutATokenIsAnError) {
    const auto ids = load(small_bpe()).encode("ab d");
    ASSERT_FALSE(ids);
    EXPECT_EQ(ErrorKind::kInvalidArgument, ids.error().kind);
    EXPECT_THAT(ids.error().message, HasSubstr("0x64"));
}

TEST(Tokenizer, InvalidUtf8IsNamedWithItsOffset) {
    const Tokenizer tokenizer = load(small_bpe());
    const struct {
        std::string text;
        std::string offset;
    } cases[] = {
        {"ab\xFF", "byte 2 of 3 is 0xFF"},   {"\xC3", "byte 0 of 1"},     {"a\xC0\xAF", "byte 1 of 3"},
        {"a\xED\xA0\x80", "byte 1 of 4"},    {"\xE4\xBD", "byte 0 of 2"}, {"a\x80", "byte 1 of 2"},
        {"\xF4\x90\x80\x80", "byte 0 of 4"},
    };
    for (const auto& [text, offset] : cases) {
        const auto ids = tokenizer.encode(text);
        ASSERT_FALSE(ids) << offset;
        EXPECT_EQ(ErrorKind::kInvalidArgument, ids.error().kind);
        EXPECT_THAT(ids.error().message, HasSubstr(offset));
    }
}

TEST(Tokenizer, PiecesAndLookups) {
    const Tokenizer tokenizer = load(small_bpe());
    EXPECT_EQ(10u, tokenizer.vocab_size());
    EXPECT_EQ(" ", tokenizer.piece(5));
    EXPECT_EQ("", tokenizer.piece(7));
    EXPECT_EQ("<eos>", tokenizer.piece(7, true));
    EXPECT_EQ("<x>", tokenizer.piece(8));
    EXPECT_EQ("", tokenizer.piece(-1, true));
    EXPECT_EQ("", tokenizer.piece(10, true));
    EXPECT_EQ(4, tokenizer.find("abc"));
    EXPECT_EQ(5, tokenizer.find("\u0120"));
    EXPECT_EQ(-1, tokenizer.find("abcd"));
    EXPECT_EQ(-1, tokenizer.find(""));
    EXPECT_TRUE(tokenizer.is_control(6));
    EXPECT_FALSE(tokenizer.is_control(8));
    EXPECT_FALSE(tokenizer.is_control(10));
    EXPECT_EQ("ab<eos>c", tokenizer.decode({3, 7, 2}, true));
    EXPECT_EQ("abc", tokenizer.decode({3, 7, 2}));
}

TEST(Tokenizer, EndsOfGenerationGoByIdAndByName) {
    VocabularyFile file = small_bpe();
    file.add("<|im_end|>", 4);  // the file calls it a plain added token
    file.add("<|endoftext|>", 3);
    file.add("</s>", 1);  // a normal token stays one
    const Tokenizer tokenizer = load(file);
    EXPECT_TRUE(tokenizer.is_end_of_generation(7));
    EXPECT_TRUE(tokenizer.is_end_of_generation(10));
    EXPECT_TRUE(tokenizer.is_control(10));
    EXPECT_TRUE(tokenizer.is_end_of_generation(11));
    EXPECT_FALSE(tokenizer.is_end_of_generation(12));
    EXPECT_FALSE(tokenizer.is_control(12));
    EXPECT_FALSE(tokenizer.is_end_of_generation(0));
    EXPECT_FALSE(tokenizer.is_end_of_generation(-1));

    // With channels, <|end|> closes one message of several.
    file.add("<|end|>", 3);
    file.add("<|call|>", 3);
    EXPECT_TRUE(load(file).is_end_of_generation(13));
    file.add("<|return|>", 3);
    const Tokenizer channels = load(file);
    EXPECT_FALSE(channels.is_end_of_generation(13));
    EXPECT_TRUE(channels.is_end_of_generation(14));
    EXPECT_EQ("<|end|>", channels.piece(13));
}

TEST(Tokenizer, MegabyteRunsCostAConstantPerByte) {
    constexpr size_t kBytes = 1 << 20;
    constexpr double kPerByte = 8;
    for (const std::string name : {"tiny-bpe", "tiny-spm"}) {
        const Tokenizer tokenizer = open_tokenizer(data_path(name + ".gguf"));
        for (const std::string unit :
             {"a", " ", "\n", "<", "<tool", "1", "-", "\u4f60", "the ", "<tool_call>"}) {
            std::string text;
            while (text.size() < kBytes) text += unit;
            EncodeWork work;
            const auto ids = tokenizer.encode(text, kBare, &work);
            ASSERT_TRUE(ids) << ids.error().describe();
            EXPECT_GT(work.total(), 0u);
            EXPECT_LT(static_cast<double>(work.total()), kPerByte * static_cast<double>(text.size()))
                << name << " with '" << unit << "'";
        }
    }
}

TEST(Tokenizer, WhatItCantServeIsNamed) {
    const auto message = [](VocabularyFile file, ErrorKind kind) {
        const auto tokenizer = file.load();
        EXPECT_FALSE(tokenizer);
        if (tokenizer) return std::string();
        EXPECT_EQ(kind, tokenizer.error().kind) << tokenizer.error().describe();
        return tokenizer.error().describe();
    };
    VocabularyFile file = small_bpe();
    file.model = "none";
    EXPECT_THAT(message(file, ErrorKind::kUnsupported), HasSubstr("holds no vocabulary"));
    file.model = "bert";
    EXPECT_THAT(message(file, ErrorKind::kUnsupported), HasSubstr("'bert' (WordPiece) isn't supported"));
    file.model = "abacus";
    EXPECT_THAT(message(file, ErrorKind::kUnsupported), HasSubstr("'abacus' isn't known"));
    file = small_bpe();
    file.pre = "gpt-17";
    EXPECT_THAT(message(file, ErrorKind::kUnsupported), HasSubstr("'gpt-17'"));
    file.pre = "";
    EXPECT_THAT(message(file, ErrorKind::kUnsupported), HasSubstr("tokenizer.ggml.pre"));
    file = spm_file({"a"});
    file.scores.clear();
    EXPECT_THAT(message(file, ErrorKind::kCorrupt), HasSubstr("tokenizer.ggml.scores"));
}

TEST(Tokenizer, InconsistentVocabulariesAreCorrupt) {
    const auto message = [](const VocabularyFile& file) {
        const auto tokenizer = file.load();
        EXPECT_FALSE(tokenizer);
        if (tokenizer) return std::string();
        EXPECT_EQ(ErrorKind::kCorrupt, tokenizer.error().kind) << tokenizer.error().describe();
        return tokenizer.error().describe();
    };
    VocabularyFile file = small_bpe();
    file.kinds.pop_back();
    EXPECT_THAT(message(file), HasSubstr("9 entries for 10 tokens"));
    file = small_bpe();
    file.kinds[2] = 9;
    EXPECT_THAT(message(file), HasSubstr("token 2 is 9"));
    file = small_bpe();
    file.scores = {1, 2};
    EXPECT_THAT(message(file), HasSubstr("2 entries for 10 tokens"));
    file = small_bpe();
    file.tokens[3] = "a";
    EXPECT_THAT(message(file), HasSubstr("tokens 0 and 3 are both 'a'"));
    for (const std::string merge : {"ab", "a ", ""}) {
        file = small_bpe();
        file.merges.push_back(merge);
        EXPECT_THAT(message(file), HasSubstr("entry 2 is '" + merge + "'"));
    }
    EXPECT_THAT(message(with(small_bpe(), "tokenizer.ggml.eot_token_id", id_value(10))),
                HasSubstr("'tokenizer.ggml.eot_token_id' is 10, the vocabulary has 10 tokens"));
    file = small_bpe();
    file.more = {{"tokenizer.ggml.add_bos_token", flag_value(true)}};
    EXPECT_THAT(message(file), HasSubstr("tokenizer.ggml.bos_token_id is missing"));
}

}  // namespace
}  // namespace ingot::tokenizer_test
