// What a user sees who makes a mistake, or has a damaged file: one line on stderr that says what was found,
// nothing on stdout, and the exit code. The damaged files are copies of a tiny model, changed byte by byte
// here.
#include <limits>

#include "error/expect_failure.h"

namespace ingot {
namespace {

using test::expect_failure;
using test::expect_wrong_usage;
using test::ProgramResult;
using test::run_program;
using test::TemporaryFolder;
using testing::HasSubstr;

const std::string kModel = INGOT_TEST_DATA "/models/llama.gguf";

// The tiny model's bytes with the first occurrence of `from` behind `anchor` replaced by `to` (of the same
// length).
std::string patched(std::string_view anchor, std::string_view from, std::string_view to) {
    std::string bytes = test::read_bytes(kModel);
    const size_t start = bytes.find(anchor);
    EXPECT_NE(std::string::npos, start) << anchor;
    const size_t place = bytes.find(from, start);
    EXPECT_NE(std::string::npos, place) << from;
    EXPECT_EQ(from.size(), to.size());
    return bytes.replace(place, from.size(), to);
}

std::string u64(uint64_t value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Commands that open a model, each with what else it needs.
std::vector<std::vector<std::string>> commands_on(const std::string& model) {
    return {{"run", model, "-p", "x"},
            {"bench", model, "-p", "4", "-n", "1", "-r", "1"},
            {"perplexity", model, "-f", kModel},
            {"info", model},
            {"tokenize", model, "x"},
            {"chat", model}};
}

TEST(BadInput, MissingFile) {
    for (const auto& arguments : commands_on("/no/such/model.gguf"))
        expect_failure(arguments, {"/no/such/model.gguf", "no such file"});
}

TEST(BadInput, Directory) {
    const TemporaryFolder folder;
    for (const auto& arguments : commands_on(folder.file("")))
        expect_failure(arguments, {folder.file(""), "directory"});
}

TEST(BadInput, NotAGguf) {
    const TemporaryFolder folder;
    const std::string text = folder.write("notes.gguf", std::string(4096, 'x'));
    for (const auto& arguments : commands_on(text)) expect_failure(arguments, {text, "GGUF"});
    expect_failure({"run", folder.write("empty.gguf", ""), "-p", "x"}, {"empty.gguf"});
}

TEST(BadInput, TruncatedAtTwentyPlaces) {
    const TemporaryFolder folder;
    const std::string bytes = test::read_bytes(kModel);
    for (size_t i = 1; i <= 20; ++i) {
        const std::string part = folder.write("part.gguf", bytes.substr(0, bytes.size() * i / 21));
        expect_failure({"run", part, "-p", "x"}, {part});
        expect_failure({"info", part}, {part});
    }
    expect_failure({"run", folder.write("part.gguf", bytes.substr(0, bytes.size() - 1)), "-p", "x"},
                   {"part.gguf"});
}

TEST(BadInput, UnknownArchitecture) {
    const TemporaryFolder folder;
    const std::string file = folder.write("a.gguf", patched("general.architecture", "llama", "lhama"));
    expect_failure({"run", file, "-p", "x"}, {file, "lhama", "llama", "qwen3", "gemma3"});
}

TEST(BadInput, MissingTensor) {
    const TemporaryFolder folder;
    const std::string file = folder.write("a.gguf", patched("blk.1.ffn_up.weight", "ffn_up", "ffn_pu"));
    expect_failure({"run", file, "-p", "x"}, {file, "blk.1.ffn_up.weight"});
}

TEST(BadInput, WrongShape) {
    // 48 x 48 becomes 24 x 96: the same bytes, so that only the shape is wrong.
    const TemporaryFolder folder;
    const std::string file =
        folder.write("a.gguf", patched("blk.0.attn_q.weight", u64(48) + u64(48), u64(24) + u64(96)));
    expect_failure({"run", file, "-p", "x"}, {file, "blk.0.attn_q.weight", "24", "96", "48"});
}

TEST(BadInput, NaNWeights) {
    const TemporaryFolder folder;
    std::string bytes = test::read_bytes(kModel);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (size_t i = bytes.size() - 48 * 4; i + 4 <= bytes.size(); i += 4)
        bytes.replace(i, 4, (const char*)&nan, 4);
    const std::string file = folder.write("nan.gguf", bytes);
    expect_failure({"run", file, "-p", "x"}, {file, "blk.1.", "NaN"});
}

TEST(BadInput, PromptLongerThanTheContext) {
    expect_failure({"run", kModel, "-c", "4", "-p", "\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c"},
                   {"the prompt has 10 tokens", "the context has 4"});
}

TEST(BadInput, EmptyPrompt) {
    expect_failure({"run", kModel, "-p", ""}, {"the prompt is empty"});
    expect_failure({"run", kModel}, {"the prompt is empty"});
    expect_failure({"run", kModel, "-f", "-"}, {"the prompt is empty"});
}

TEST(BadInput, InvalidUtf8) {
    expect_failure({"run", kModel, "-p", "ab\xFF"}, {"UTF-8", "2"});
    expect_failure({"run", kModel}, {"UTF-8", "3"}, {.in = "abc\xC3(", .out_path = {}});
    expect_failure({"tokenize", kModel, "ab\xFF"}, {"UTF-8", "2"});
}

TEST(BadInput, MissingPromptFile) {
    expect_failure({"run", kModel, "-f", "/no/such.txt"}, {"/no/such.txt"});
    expect_failure({"perplexity", kModel, "-f", "/no/such.txt"}, {"/no/such.txt"});
}

TEST(BadInput, UnknownFlagValue) {
    expect_wrong_usage({"run", kModel, "--device", "tpu"}, {"ingot run: --device", "'tpu'", "cpu"});
    expect_wrong_usage({"run", kModel, "-t", "many"}, {"--threads", "'many'", "0 to 1024"});
    expect_wrong_usage({"run", kModel, "--temp", "-1"}, {"--temp", "'-1'"});
    expect_wrong_usage({"run", kModel, "--top-p", "1.5"}, {"--top-p", "'1.5'", "0 to 1"});
    expect_wrong_usage({"run", kModel, "--logit-bias", "7"}, {"--logit-bias", "'7'", "TOKEN_ID=BIAS"});
    expect_wrong_usage({"bench", kModel, "-o", "xml"}, {"'xml'", "md, csv, json"});
    expect_wrong_usage({"quantize", kModel, "/tmp/x.gguf", "Q9_9"}, {"Q9_9", "Q4_K"});
    expect_wrong_usage({"run", kModel, "--stop", ""}, {"--stop", "an empty text ends nothing"});
    for (const char* command : {"run", "chat", "bench"}) {
        expect_wrong_usage({command, kModel, "-n", "010"}, {"--max-tokens", "'010' begins with 0, write 10"});
        expect_wrong_usage({command, kModel, "-n", "08"}, {"--max-tokens", "'08' begins with 0, write 8"});
    }
}

TEST(BadInput, UnknownFlagOrCommand) {
    expect_wrong_usage({"run", kModel, "--wat"}, {"--wat", "ingot run --help"});
    expect_wrong_usage({"--wat"}, {"--wat"});
    expect_wrong_usage({"dance"}, {"unknown command 'dance'", "run", "chat", "devices"});
    expect_wrong_usage({"run", kModel, "surplus"}, {"surplus"});
    expect_wrong_usage({"run", kModel, "-p", "x", "-f", "y"}, {"--file", "--prompt"});
    expect_wrong_usage({"run", kModel, "-p"}, {"--prompt"});
}

TEST(BadInput, UnwritableOutput) {
    expect_failure({"run", kModel, "-p", "x", "-n", "1", "--dump-graph", "/no/such/g.dot"},
                   {"/no/such/g.dot"});
    expect_failure({"run", kModel, "-p", "x", "-n", "1", "--trace", "/no/such/t.json"}, {"/no/such/t.json"});
    expect_failure({"quantize", kModel, "/no/such/q.gguf", "Q8_0"}, {"/no/such/q.gguf"});
}

TEST(BadInput, HelpIsNoMistake) {
    const ProgramResult all = run_program({"--help"});
    EXPECT_EQ(0, all.exit_code);
    for (const char* name : {"run", "chat", "info", "models", "tokenize", "detokenize", "bench", "perplexity",
                             "quantize", "devices"}) {
        EXPECT_THAT(all.out, HasSubstr(std::string("\n  ") + name + " "));
        const ProgramResult one = run_program({name, "--help"});
        EXPECT_EQ(0, one.exit_code) << name;
        EXPECT_THAT(one.out, HasSubstr("Usage: ingot " + std::string(name)));
    }
    EXPECT_EQ(0, run_program({"--version"}).exit_code);
}

}  // namespace
}  // namespace ingot
