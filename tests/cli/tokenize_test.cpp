// The commands tokenize and detokenize as a user calls them, on a file that holds nothing but a vocabulary.
// The expected ids are golden ones of Hugging Face tokenizers (tests/data/tokenizer/tiny-bpe.ids.json).
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/run_program.h"

namespace ingot {
namespace {

using nlohmann::json;
using test::ProgramResult;
using test::run_program;
using testing::HasSubstr;
using testing::Not;

const std::string kData = std::string(INGOT_TEST_DATA) + "/tokenizer/";
const std::string kModel = kData + "tiny-bpe.gguf";

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
    const ProgramResult result = run_program({"tokenize", kModel, "Hello, world!", "--json"});
    EXPECT_EQ(0, result.exit_code);
    EXPECT_EQ(golden_ids_of("Hello, world!"), json::parse(result.out));
}

TEST(TokenizeCommand, ReadsStdinAndCutsItAtSeparators) {
    const ProgramResult result =
        run_program({"tokenize", kModel, "-f", "-", "--separator", "|", "--json"}, {.in = "1234|0\n"});
    EXPECT_EQ(0, result.exit_code);
    const size_t newline = result.out.find('\n');
    EXPECT_EQ(golden_ids_of("1234"), json::parse(result.out.substr(0, newline)));
    EXPECT_EQ(golden_ids_of("0").at(0), json::parse(result.out.substr(newline)).at(0));
}

TEST(TokenizeCommand, PiecesShowIdAndText) {
    const ProgramResult result = run_program({"tokenize", kModel, "a<|im_end|>", "--pieces"});
    EXPECT_EQ(0, result.exit_code);
    EXPECT_THAT(result.out, HasSubstr("'a'\n"));
    EXPECT_THAT(result.out, HasSubstr("      2  '<|im_end|>'\n"));
    EXPECT_THAT(run_program({"tokenize", kModel, "a<|im_end|>", "--pieces", "--no-special"}).out,
                Not(HasSubstr("'<|im_end|>'")));
}

TEST(TokenizeCommand, DetokenizeIsTheWayBack) {
    const json ids = golden_ids_of("Hello, world!");
    const ProgramResult result = run_program({"detokenize", kModel, ids.dump()});
    EXPECT_EQ(0, result.exit_code);
    EXPECT_EQ("Hello, world!\n", result.out);
    EXPECT_EQ("\n", run_program({"detokenize", kModel, "2"}).out);
    EXPECT_EQ("<|im_end|>\n", run_program({"detokenize", kModel, "2", "--special"}).out);
}

TEST(TokenizeCommand, BadInputIsNamed) {
    const ProgramResult result = run_program({"detokenize", kModel, "1,x,3"});
    EXPECT_EQ(1, result.exit_code);
    EXPECT_THAT(result.err, HasSubstr("'x' is no token id"));
    EXPECT_THAT(run_program({"detokenize", kModel, "702"}).err, HasSubstr("0 to 701 are"));
    const ProgramResult invalid = run_program({"tokenize", kModel, "ab\377"});
    EXPECT_EQ(1, invalid.exit_code);
    EXPECT_THAT(invalid.err, HasSubstr("byte 2 of 3 is 0xFF"));
    EXPECT_EQ(2, run_program({"tokenize", kModel, "x", "--json", "--pieces"}).exit_code);
}

}  // namespace
}  // namespace ingot
