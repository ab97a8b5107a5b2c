// Text of a model file that would steer a terminal, wherever a message shows it: escaped, and of a bounded
// length.
#include "error/expect_failure.h"
#include "llm/gguf/writer.h"

namespace ingot {
namespace {

using gguf::Value;
using test::ProgramResult;
using test::TemporaryFolder;

const std::string kEscape = "\x1b[31mEVIL\x1b]0;title\x07\x7f";

struct HostileModel {
    std::string architecture = "llama", model = "gpt2", pre = "gpt-2", chat_template = "{{ 1 }}";
    std::vector<std::string_view> tokens = {"a", "b", "ab"}, merges = {"a b"};

    std::string bytes() const {
        gguf::Writer writer;
        writer.set("general.architecture", Value{std::string_view(architecture)});
        writer.set("tokenizer.ggml.model", Value{std::string_view(model)});
        writer.set("tokenizer.ggml.pre", Value{std::string_view(pre)});
        writer.set("tokenizer.ggml.tokens", Value{gguf::Array{tokens}});
        writer.set("tokenizer.ggml.merges", Value{gguf::Array{merges}});
        writer.set("tokenizer.chat_template", Value{std::string_view(chat_template)});
        return writer.header();
    }
};

void expect_harmless(const std::string& text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        ASSERT_TRUE((byte >= 0x20 && byte != 0x7F) || c == '\n') << "byte " << int(byte) << " in " << text;
    }
    EXPECT_LT(text.size(), 4000u);
}

// All commands on this model; at least one shows the text.
void expect_escaped(const HostileModel& model, const std::string& input = {}) {
    const TemporaryFolder folder;
    const std::string path = folder.write("hostile.gguf", model.bytes());
    bool shown = false;
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"tokenize", path, "ab"},
                                                      {"run", path, "-p", "ab"},
                                                      {"chat", path},
                                                      {"info", path},
                                                      {"bench", path, "-p", "1", "-n", "0"}}) {
        const ProgramResult result = test::run_program(arguments, {.in = input, .out_path = {}});
        expect_harmless(result.out);
        expect_harmless(result.err);
        shown |= (result.out + result.err).find("EVIL") != std::string::npos;
    }
    EXPECT_TRUE(shown);
}

TEST(HostileText, IsEscapedWhereverItComesFrom) {
    const std::string huge = kEscape + std::string(100'000, 'x');
    for (const std::string& text : {kEscape, huge}) {
        expect_escaped({.architecture = text});
        expect_escaped({.model = text});
        expect_escaped({.pre = text});
        expect_escaped({.tokens = {text, text}});
        expect_escaped({.merges = {text}});
        expect_escaped({.chat_template = "{% " + text + " %}"});
        expect_escaped({.chat_template = "{{ x y '" + text + "' }}"});
        expect_escaped({.chat_template = "{{ 1 + '" + text + "' '" + text + "' '}}"});
    }
}

}  // namespace
}  // namespace ingot
