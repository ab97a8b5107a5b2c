// The vocabularies of the two real models. Oracles: Hugging Face tokenizers built from SmolLM2's own tokens
// and merges, llama.cpp for Gemma 3 (tools/oracle/make_tokenizer_golden.py).
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "llm/text/tokenizer.h"

namespace ingot {
namespace {

std::string model_path(const std::string& name) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    const std::string base =
        cache != nullptr && *cache != '\0' ? cache : std::string(home ? home : "") + "/.cache";
    return base + "/ingot/models/" + name;
}

nlohmann::json read_json(const std::string& name) {
    std::ifstream file(std::string(INGOT_TEST_DATA) + "/tokenizer/" + name);
    return nlohmann::json::parse(file);
}

void expect_golden(const std::string& model, const std::string& golden) {
    const auto file = gguf::File::open(model_path(model));
    ASSERT_TRUE(file) << file.error().describe();
    const auto tokenizer = Tokenizer::from_gguf(*file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().describe();
    const std::vector<std::string> strings = read_json("strings.json");
    const std::vector<std::vector<TokenId>> expected = read_json(golden)["ids"];
    ASSERT_EQ(strings.size(), expected.size());
    for (size_t i = 0; i < strings.size(); ++i) {
        const auto ids = tokenizer->encode(strings[i]);
        ASSERT_TRUE(ids) << ids.error().describe();
        EXPECT_EQ(expected[i], *ids) << strings[i];
        // U+2581 is the one character that SentencePiece can't tell from a space.
        if (strings[i].find("\u2581") != std::string::npos) continue;
        const auto bare = tokenizer->encode(strings[i], {.add_special = false, .parse_special = true});
        ASSERT_TRUE(bare);
        EXPECT_EQ(strings[i], tokenizer->decode(*bare, true));
    }
}

TEST(RealVocabulary, SmolLm2IdsEqualThoseOfHuggingFace) {
    expect_golden("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2.ids.json");
}

TEST(RealVocabulary, Gemma3IdsEqualThoseOfLlamaCpp) {
    expect_golden("gemma-3-270m-q4_k_m.gguf", "gemma-3.ids.json");
}

}  // namespace
}  // namespace ingot
