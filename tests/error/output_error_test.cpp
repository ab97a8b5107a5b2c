// What happens to files and streams that are written: nothing of the user's is lost unsaid, and lost output
// is a failure.
#include <sys/stat.h>

#include "error/expect_failure.h"

namespace ingot {
namespace {

using test::expect_failure;
using test::ProgramResult;
using test::run_program;
using test::TemporaryFolder;
using testing::HasSubstr;

const std::string kTiny = INGOT_TEST_DATA "/models/llama.gguf";

TEST(OutputErrors, LostOutputIsAFailureOfEveryCommand) {
    const TemporaryFolder folder;
    const std::vector<std::vector<std::string>> commands = {
        {"run", kTiny, "-p", "x", "-n", "2"},
        {"info", kTiny},
        {"info", kTiny, "--json"},
        {"tokenize", kTiny, "x"},
        {"tokenize", kTiny, "x", "--pieces"},
        {"detokenize", kTiny, "5"},
        {"bench", kTiny, "-p", "2", "-n", "1", "-r", "1"},
        {"devices"},
        {"quantize", kTiny, folder.file("q.gguf"), "Q8_0"},
        {"run", "--help"},
        {"--help"},
        {"--version"},
        {},
    };
    for (const auto& arguments : commands) {
        const std::string command = arguments.empty() ? "" : arguments[0];
        const ProgramResult result = run_program(arguments, {.in = "", .out_path = "/dev/full"});
        EXPECT_EQ(test::kFailed, result.exit_code) << command;
        EXPECT_THAT(result.err, HasSubstr("standard output")) << command;
    }
}

// A file name is bytes, JSON is UTF-8.
TEST(OutputErrors, JsonIsUtf8WhateverTheModelIsCalled) {
    const TemporaryFolder folder;
    const std::string model = folder.write("a\xFF.gguf", test::read_bytes(kTiny));
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"bench", model, "-p", "2", "-n", "0", "-r", "1", "-o", "json"},
          std::vector<std::string>{"info", model, "--json"}}) {
        const ProgramResult result = run_program(arguments);
        EXPECT_EQ(0, result.exit_code) << result.err;
        EXPECT_THAT(result.out, HasSubstr("a\uFFFD.gguf"));
    }
}

TEST(OutputErrors, ASessionFileThatIsNoneIsLeftAlone) {
    const TemporaryFolder folder;
    for (const std::string& content : {std::string("Dear diary"), std::string(), std::string(500, 'x')}) {
        const std::string path = folder.write("notes.txt", content);
        const ProgramResult result = run_program({"run", kTiny, "-p", "x", "-n", "1", "--session", path});
        EXPECT_EQ(0, result.exit_code);
        for (const std::string& part :
             {path, std::string("is no session file"), std::string("starting afresh"),
              std::string("remove it or name another file")})
            EXPECT_THAT(result.err, HasSubstr(part));
        EXPECT_EQ(content, test::read_bytes(path));
    }
    // Before anything is generated.
    for (const auto& [where, message] : {std::pair(std::string(), "the name of the file to write is empty"),
                                         {folder.file("missing/s"), "No such file or directory"},
                                         {std::string("/dev/full"), "not a regular file"}})
        expect_failure({"run", kTiny, "-p", "x", "-n", "1", "--session", where}, {message});
    expect_failure({"run", kTiny, "-p", "x", "-n", "1", "--session", folder.file("")}, {"directory"});
}

TEST(OutputErrors, ASessionOfAnotherModelIsLeftAlone) {
    const TemporaryFolder folder;
    const std::string path = folder.file("s.kv");
    ASSERT_EQ(0, run_program({"run", kTiny, "-p", "x", "-n", "1", "--session", path}).exit_code);
    const std::string before = test::read_bytes(path);
    const ProgramResult result =
        run_program({"run", INGOT_TEST_DATA "/models/qwen2.gguf", "-p", "x", "-n", "1", "--session", path});
    EXPECT_EQ(0, result.exit_code);
    EXPECT_THAT(result.err, ::testing::AllOf(HasSubstr(path), HasSubstr("of another model"),
                                             HasSubstr("nothing will be saved")));
    EXPECT_EQ(before, test::read_bytes(path));
}

TEST(OutputErrors, ASessionOfALaterVersionIsLeftAlone) {
    const TemporaryFolder folder;
    const std::string path = folder.file("s.kv");
    ASSERT_EQ(0, run_program({"run", kTiny, "-p", "x", "-n", "1", "--session", path}).exit_code);
    std::string later = test::read_bytes(path);
    constexpr size_t kVersionAt = 8;  // behind the magic
    ++later.at(kVersionAt);
    folder.write("s.kv", later);
    const ProgramResult result = run_program({"run", kTiny, "-p", "x", "-n", "1", "--session", path});
    EXPECT_EQ(0, result.exit_code);
    EXPECT_THAT(result.err, ::testing::AllOf(HasSubstr("version"), HasSubstr("starting afresh")));
    EXPECT_EQ(later, test::read_bytes(path));
}

TEST(OutputErrors, ADamagedSessionStartsAfresh) {
    const TemporaryFolder folder;
    const std::string path = folder.file("s.kv");
    ASSERT_EQ(0, run_program({"run", kTiny, "-p", "x", "-n", "1", "--session", path}).exit_code);
    const std::string good = test::read_bytes(path);
    folder.write("s.kv", good.substr(0, good.size() / 2));
    const ProgramResult result = run_program({"run", kTiny, "-p", "x", "-n", "1", "--session", path});
    EXPECT_EQ(0, result.exit_code);
    EXPECT_THAT(result.err, HasSubstr("starting afresh"));
    EXPECT_EQ(good, test::read_bytes(path));
}

TEST(OutputErrors, QuantizeRefusesATargetThatIsNoFile) {
    const TemporaryFolder folder;
    const std::string pipe = folder.file("pipe");
    ASSERT_EQ(0, ::mkfifo(pipe.c_str(), 0600));
    expect_failure({"quantize", kTiny, pipe, "Q8_0"}, {pipe, "not a regular file"});
    expect_failure({"quantize", kTiny, folder.file(""), "Q8_0"}, {"is a directory"});
}

}  // namespace
}  // namespace ingot
