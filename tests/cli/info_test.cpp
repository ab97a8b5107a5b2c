#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/info_report.h"

namespace ingot::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTinyModel = INGOT_TEST_DATA "/models/llama.gguf";
const std::string kShapes = INGOT_TEST_DATA "/quant/shapes.gguf";

gguf::File open(const std::string& path) {
    auto file = gguf::File::open(path);
    if (!file) throw std::runtime_error(file.error().describe());
    return *std::move(file);
}

TEST(Info, TextNamesKeysTensorsAndTotals) {
    const gguf::File file = open(kShapes);
    const std::string text = to_text(make_info_report(file, 0));
    EXPECT_THAT(text, ContainsRegex("metadata \\([0-9]+\\)"));
    EXPECT_THAT(text, ContainsRegex("test.uint8 +uint8 +100\n"));
    EXPECT_THAT(text, ContainsRegex("test.bool +bool +true\n"));
    EXPECT_THAT(text, ContainsRegex("test.strings +array of string +3 items: 'a', '', '"));
    EXPECT_THAT(text, HasSubstr("tensors (13)\n"));
    EXPECT_THAT(text, ContainsRegex("blk.2.ffn_up_exps.weight +F16 +256 x 2 x 3 +3.0 KiB\n"));
    // 9104 elements in the eleven matrices and matrix-shaped tensors, 272 in the two vectors.
    EXPECT_THAT(text, ContainsRegex("F16 +11 +9.1K +17.8 KiB\n"));
    EXPECT_THAT(text, ContainsRegex("F32 +2 +272 +1.1 KiB\n"));
}

TEST(Info, LongArraysAreShortened) {
    const gguf::File file = open(kTinyModel);
    const InfoReport report = make_info_report(file, 0);
    const size_t num_tokens = file.get_array("tokenizer.ggml.tokens").value()->size();
    EXPECT_THAT(to_text(report),
                ContainsRegex(fmt::format("tokenizer.ggml.tokens +array of string +{} items: .*\\.\\.\\.",
                                          num_tokens)));
    const auto json = nlohmann::json::parse(to_json(report));
    const auto& tokens = json.at("metadata").at("tokenizer.ggml.tokens");
    EXPECT_EQ(num_tokens, tokens.at("length"));
    EXPECT_EQ(16u, tokens.at("first").size());
}

TEST(Info, JsonHasWhatTheFileSays) {
    const gguf::File file = open(kShapes);
    const auto json = nlohmann::json::parse(to_json(make_info_report(file, 0)));
    EXPECT_EQ(3, json.at("version"));
    EXPECT_EQ(file.size_bytes(), json.at("size_bytes"));
    EXPECT_EQ(100, json.at("metadata").at("test.uint64"));
    EXPECT_EQ(nlohmann::json({true, false}), json.at("metadata").at("test.bools"));
    ASSERT_EQ(13u, json.at("tensors").size());
    const auto& tensor = json.at("tensors")[9];
    EXPECT_EQ("blk.2.ffn_up_exps.weight", tensor.at("name"));
    EXPECT_EQ("F16", tensor.at("type"));
    EXPECT_EQ(nlohmann::json({256, 2, 3}), tensor.at("shape"));
    EXPECT_EQ(3072, tensor.at("size_bytes"));
}

// The tiny llama: keys and values of every layer are kv heads * head size floats a token.
TEST(Info, MemoryOfTheCacheFollowsFromTheModelsKeys) {
    const gguf::File file = open(kTinyModel);
    const InfoReport report = make_info_report(file, 64);
    ASSERT_TRUE(report.run) << report.run.error().describe();
    const uint64_t layers = file.get_uint("llama.block_count").value();
    const uint64_t kv_heads = file.get_uint("llama.attention.head_count_kv").value();
    const uint64_t head_dim = file.get_uint("llama.attention.key_length", 0).value();
    const uint64_t heads = file.get_uint("llama.attention.head_count").value();
    const uint64_t width = file.get_uint("llama.embedding_length").value();
    EXPECT_EQ("f32", report.run->kv_format);
    EXPECT_EQ(2 * layers * kv_heads * (head_dim != 0 ? head_dim : width / heads) * 64 * sizeof(float),
              report.run->kv_bytes);
    EXPECT_GT(report.run->compute_bytes, 0u);
    EXPECT_EQ(report.run->weight_bytes + report.run->kv_bytes + report.run->compute_bytes,
              report.run->total_bytes());
    ASSERT_EQ(1u, report.run->devices.size());
    EXPECT_THAT(report.run->devices[0].description, ::testing::StartsWith("cpu ("));
    EXPECT_GT(report.run->devices[0].num_operations, 10u);
}

TEST(Info, AModelThatCannotRunSaysWhy) {
    const gguf::File file = open(kShapes);
    const InfoReport report = make_info_report(file, 0);
    EXPECT_FALSE(report.run);
    EXPECT_THAT(to_text(report), HasSubstr("run\n  this program can't run it: "));
    const auto json = nlohmann::json::parse(to_json(report));
    EXPECT_THAT(std::string(json.at("run_error")), HasSubstr("llama.vocab_size"));
    EXPECT_FALSE(json.contains("run"));
}

// A terminal must not obey what a file says.
TEST(Info, ControlCharactersOfAFileAreNotPrinted) {
    const std::string value = "red \x1b[31m\xff";
    std::string bytes("GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0k\x08\0\0\0", 37);
    bytes += std::string(1, char(value.size())) + std::string(7, '\0') + value;
    const auto file = gguf::File::parse(std::as_bytes(std::span(bytes)), "test");
    ASSERT_TRUE(file) << file.error().describe();
    const InfoReport report = make_info_report(*file, 0);
    EXPECT_THAT(to_text(report), HasSubstr("red \\x1b[31m\\xff"));
    EXPECT_THAT(to_text(report), Not(HasSubstr("\x1b")));
    EXPECT_THAT(to_json(report), HasSubstr("red \\u001b[31m\xef\xbf\xbd"));  // the replacement character
}

}  // namespace
}  // namespace ingot::cli
