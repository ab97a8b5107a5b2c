// The commands tokenize and detokenize as a user calls them, on a file that holds nothing but a vocabulary.
// The expected ids are golden ones of Hugging Face tokenizers (tests/data/tokenizer/tiny-bpe.ids.json).
#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Outcome {
    int exit_code;
    std::string output;  // stdout, then stderr
};

const std::string kData = std::string(INGOT_TEST_DATA) + "/tokenizer/";
const std::string kModel = "'" + kData + "tiny-bpe.gguf'";

Outcome run(const std::string& arguments) {
    const std::string command = std::string(INGOT_PROGRAM) + " " + arguments + " 2>&1";
    Outcome outcome{-1, ""};
    FILE* pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return outcome;
    char block[4096];
    while (const size_t count = std::fread(block, 1, sizeof block, pipe)) outcome.output.append(block, count);
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
    return outcome;
}

json read(const std::string& name) {
    std::ifstream file(kData + name);
    return json::parse(file);
}

json golden_ids_of(const std::string& text) {
    const json strings = read("strings.json");
    for (size_t i = 0; i < strings.size(); ++i) {
        if (strings[i] == text) return read("tiny-bpe.ids.json")["ids"][i];
    }
    ADD_FAILURE() << "no golden string '" << text << "'";
    return {};
}

TEST(TokenizeCommand, JsonIsOneArrayOfIds) {
    const Outcome outcome = run("tokenize " + kModel + " 'Hello, world!' --json");
    EXPECT_EQ(0, outcome.exit_code);
    EXPECT_EQ(golden_ids_of("Hello, world!"), json::parse(outcome.output));
}

TEST(TokenizeCommand, ReadsStdinAndCutsItAtSeparators) {
    const Outcome outcome = run("tokenize " + kModel + " -f - --separator '|' --json <<'END'\n1234|0\nEND");
    EXPECT_EQ(0, outcome.exit_code);
    const size_t newline = outcome.output.find('\n');
    EXPECT_EQ(golden_ids_of("1234"), json::parse(outcome.output.substr(0, newline)));
    EXPECT_EQ(golden_ids_of("0").at(0), json::parse(outcome.output.substr(newline)).at(0));
}

TEST(TokenizeCommand, PiecesShowIdAndText) {
    const Outcome outcome = run("tokenize " + kModel + " 'a<|im_end|>' --pieces");
    EXPECT_EQ(0, outcome.exit_code);
    EXPECT_THAT(outcome.output, HasSubstr("'a'\n"));
    EXPECT_THAT(outcome.output, HasSubstr("      2  '<|im_end|>'\n"));
    const Outcome plain = run("tokenize " + kModel + " 'a<|im_end|>' --pieces --no-special");
    EXPECT_EQ(std::string::npos, plain.output.find("'<|im_end|>'")) << plain.output;
}

TEST(TokenizeCommand, DetokenizeIsTheWayBack) {
    const json ids = golden_ids_of("Hello, world!");
    const Outcome outcome = run("detokenize " + kModel + " '" + ids.dump() + "'");
    EXPECT_EQ(0, outcome.exit_code);
    EXPECT_EQ("Hello, world!\n", outcome.output);
    EXPECT_EQ("\n", run("detokenize " + kModel + " 2").output);
    EXPECT_EQ("<|im_end|>\n", run("detokenize " + kModel + " 2 --special").output);
}

TEST(TokenizeCommand, BadInputIsNamed) {
    const Outcome outcome = run("detokenize " + kModel + " 1,x,3");
    EXPECT_EQ(1, outcome.exit_code);
    EXPECT_THAT(outcome.output, HasSubstr("'x' is no token id"));
    EXPECT_THAT(run("detokenize " + kModel + " 702").output, HasSubstr("0 to 701 are"));
    const Outcome invalid = run("tokenize " + kModel + " \"$(printf 'ab\\377')\"");
    EXPECT_EQ(1, invalid.exit_code);
    EXPECT_THAT(invalid.output, HasSubstr("byte 2 of 3 is 0xFF"));
    EXPECT_EQ(2, run("tokenize " + kModel + " x --json --pieces").exit_code);
}

}  // namespace
