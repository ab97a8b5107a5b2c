// Vocabularies for tests: the two small ones of tests/data/tokenizer, and ones put together from a few
// tokens.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "llm/gguf/writer.h"
#include "llm/text/tokenizer.h"

namespace ingot::tokenizer_test {

using Ids = std::vector<TokenId>;

inline std::string data_path(const std::string& name) {
    return std::string(INGOT_TEST_DATA) + "/tokenizer/" + name;
}

inline nlohmann::json read_json(const std::string& name) {
    std::ifstream file(data_path(name));
    EXPECT_TRUE(file.good()) << data_path(name);
    return nlohmann::json::parse(file);
}

inline std::vector<std::string> golden_strings() {
    return read_json("strings.json");
}
inline std::vector<Ids> golden_ids(const std::string& name) {
    return read_json(name + ".ids.json")["ids"];
}

inline Tokenizer open_tokenizer(const std::string& path) {
    auto file = gguf::File::open(path);
    EXPECT_TRUE(file) << file.error().describe();
    auto tokenizer = Tokenizer::from_gguf(*file);
    EXPECT_TRUE(tokenizer) << tokenizer.error().describe();
    return *std::move(tokenizer);
}

// Metadata of a file that holds nothing but a vocabulary. A kind is a number of tokenizer.ggml.token_type.
struct VocabularyFile {
    std::string model = "gpt2";
    std::string pre = "gpt-2";  // empty: no such key
    std::vector<std::string> tokens;
    std::vector<int32_t> kinds;
    std::vector<float> scores;
    std::vector<std::string> merges;
    std::vector<std::pair<std::string, gguf::Value>> more;

    Result<Tokenizer> load() const {
        gguf::Writer writer;
        writer.set("tokenizer.ggml.model", {std::string_view(model)});
        if (!pre.empty()) writer.set("tokenizer.ggml.pre", {std::string_view(pre)});
        if (!tokens.empty()) writer.set("tokenizer.ggml.tokens", {views(tokens)});
        if (!kinds.empty()) writer.set("tokenizer.ggml.token_type", {gguf::Array{kinds}});
        if (!scores.empty()) writer.set("tokenizer.ggml.scores", {gguf::Array{scores}});
        if (model == "gpt2" || model == "gemma4") writer.set("tokenizer.ggml.merges", {views(merges)});
        for (const auto& [key, value] : more) writer.set(key, value);
        const std::string bytes = writer.header();
        INGOT_ASSIGN(const gguf::File file, gguf::File::parse(std::as_bytes(std::span(bytes)), "test.gguf"));
        return Tokenizer::from_gguf(file);
    }

    void add(std::string token, int32_t kind = 1, float score = 0) {
        tokens.push_back(std::move(token));
        kinds.push_back(kind);
        if (model == "llama") scores.push_back(score);
    }

  private:
    static gguf::Value views(const std::vector<std::string>& texts) {
        return {gguf::Array{std::vector<std::string_view>(texts.begin(), texts.end())}};
    }
};

inline gguf::Value text_value(std::string_view text) {
    return {text};
}
inline gguf::Value flag_value(bool flag) {
    return {flag};
}
inline gguf::Value id_value(uint32_t id) {
    return {id};
}

// A SentencePiece vocabulary of a few words: <unk> <s> </s>, 256 byte tokens, then these with falling scores.
inline VocabularyFile spm_file(const std::vector<std::string>& words) {
    VocabularyFile file;
    file.model = "llama";
    file.pre = "default";
    file.add("<unk>", 2);
    file.add("<s>", 3);
    file.add("</s>", 3);
    for (int byte = 0; byte < 256; ++byte) file.add(fmt::format("<0x{:02X}>", byte), 6);
    for (size_t i = 0; i < words.size(); ++i) file.add(words[i], 1, -static_cast<float>(i));
    return file;
}

}  // namespace ingot::tokenizer_test
