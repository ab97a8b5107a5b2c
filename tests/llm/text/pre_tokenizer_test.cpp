// Oracle: the words that Hugging Face tokenizers (Oniguruma) makes with the patterns of the models' own
// tokenizer.json; tools/oracle/make_tiny_vocabularies.py.
#include "llm/text/pre_tokenizer.h"

#include <map>
#include <random>
#include <set>

#include "llm/text/regex.h"
#include "llm/text/vocabulary_files.h"

namespace ingot {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

Words words_of(const PreTokenizer& pre, std::string_view text) {
    std::vector<std::string_view> words;
    const auto done = pre.split(text, words);
    EXPECT_TRUE(done) << done.error().describe();
    return {words.begin(), words.end()};
}

Words words_of(std::string_view name, std::string_view text) {
    const auto pre = PreTokenizer::create(name);
    EXPECT_TRUE(pre) << pre.error().describe();
    return words_of(*pre, text);
}

TEST(PreTokenizer, EveryRowSplitsAsItsModelsDo) {
    const auto golden = tokenizer_test::read_json("splits.json");
    const Words texts = golden["texts"];
    std::map<std::string, std::vector<Words>> expected;
    for (const auto& rule : golden["rules"]) {
        for (const std::string name : rule["names"]) expected[name] = rule["words"];
    }
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        SCOPED_TRACE(row.name);
        ASSERT_TRUE(expected.contains(std::string(row.name))) << "a row without golden words";
        const auto pre = PreTokenizer::create(row.name);
        ASSERT_TRUE(pre) << pre.error().describe();
        const auto& words = expected.at(std::string(row.name));
        ASSERT_EQ(texts.size(), words.size());
        for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(words[i], words_of(*pre, texts[i])) << texts[i];
    }
    EXPECT_EQ(expected.size(), pre_tokenizer_rows().size());
}

TEST(PreTokenizer, NamesAreUnique) {
    std::set<std::string_view> names;
    for (const PreTokenizerRow& row : pre_tokenizer_rows())
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(PreTokenizer, AnUnknownNameIsRefusedWithTheKnownOnes) {
    const auto pre = PreTokenizer::create("gpt-17");
    ASSERT_FALSE(pre);
    EXPECT_EQ(ErrorKind::kUnsupported, pre.error().kind);
    EXPECT_THAT(pre.error().message, HasSubstr("'gpt-17'"));
    EXPECT_THAT(pre.error().message, HasSubstr("smollm"));
}

TEST(PreTokenizer, TrapCombiningAccentsSplitDifferently) {
    const std::string decomposed = "cafe\u0301s";
    EXPECT_EQ((Words{"cafe\u0301s"}), words_of("qwen35", decomposed));
    EXPECT_EQ((Words{"cafe", "\u0301s"}), words_of("qwen2", decomposed));
    EXPECT_EQ((Words{"cafe", "\u0301", "s"}), words_of("gpt-2", decomposed));
    EXPECT_EQ((Words{"caf\u00e9s"}), words_of("gpt-2", "caf\u00e9s"));
}

TEST(PreTokenizer, UnicodeSpacesAreSpacesAndTheMongolianVowelSeparatorIsNone) {
    EXPECT_EQ((Words{"a", "\u3000", "b"}), words_of("gpt-2", "a\u3000b"));
    EXPECT_EQ((Words{"a", "\u180e", "b"}), words_of("gpt-2",
                                                    "a\u180e"
                                                    "b"));
    EXPECT_EQ((Words{"a", " \u180e", "b"}), words_of("gpt-2",
                                                     "a \u180e"
                                                     "b"));
}

// The pattern as the model has it, whose `\s*[\r\n]+` is quadratic in a run of spaces; the table's isn't.
TEST(PreTokenizer, Jais2CutsWhiteSpaceAsThePatternOfTheModelDoes) {
    const auto published = Regex::compile(
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
        R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S))"
        R"(|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})");
    ASSERT_TRUE(published);
    const auto pre = PreTokenizer::create("jais-2");
    ASSERT_TRUE(pre);
    const std::vector<std::string> units = {" ",      "  ", "       ", "\n", "\r", "\t",
                                            "\u3000", "\v", "a",       "!",  "1"};
    std::mt19937 random(1);
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        for (uint32_t length = random() % 40; length > 0; --length) {
            text += units[random() % units.size()];
            if (i % 10 == 0 && length == 10) text.append(random() % 1200, ' ');
        }
        std::vector<std::string_view> expected;
        ASSERT_TRUE(published->split(text, expected));
        ASSERT_EQ(Words(expected.begin(), expected.end()), words_of(*pre, text)) << i;
    }
}

// PCRE2 gives up (kLimit) long before a pattern that is quadratic in 64 KiB is through.
TEST(PreTokenizer, LongRunsStayWithinTheMatchLimit) {
    constexpr size_t kBytes = 1 << 16;
    std::set<const std::string_view*> seen;
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        if (!seen.insert(row.patterns.data()).second) continue;
        const auto pre = PreTokenizer::create(row.name);
        ASSERT_TRUE(pre);
        for (const std::string unit :
             {"a", "A", "Ab", " ", "\n", " \n", "1", "!", "\u4f60", "\u0301", "'s", " a"}) {
            for (const std::string end : {"", "x"}) {
                std::string text;
                while (text.size() < kBytes) text += unit;
                text += end;
                std::string joined;
                for (const std::string& word : words_of(*pre, text)) joined += word;
                EXPECT_EQ(text, joined) << row.name << " with '" << unit << "'";
            }
        }
    }
}

}  // namespace
}  // namespace ingot
