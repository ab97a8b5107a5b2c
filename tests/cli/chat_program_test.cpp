// `ingot chat --session` as its users call it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_program.h"

namespace ingot {
namespace {

using testing::HasSubstr;

const std::string kChatModel = INGOT_TEST_DATA "/models/llama.gguf";

test::ProgramResult chat(const std::string& lines, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"chat", kChatModel, "-n", "3", "--greedy", "--kv-format", "f32"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return test::run_program(std::move(arguments), {lines, {}});
}

// "prompt: 22 new of 53 tokens", of the last answer.
std::string last_prompt(const std::string& stats) {
    const size_t at = stats.rfind("prompt: ");
    return at == stats.npos ? "" : stats.substr(at, stats.find(',', at) - at);
}

TEST(ChatProgram, AConversationGoesOnWhereItsSessionEnds) {
    const test::TemporaryFolder folder;
    const std::vector<std::string> session = {"--session", folder.file("s.kv"), "--stats"};
    const test::ProgramResult whole = chat("Hi\nAnd you?\n", {"--system", "Be brief", "--stats"}),
                              first =
                                  chat("Hi\n", {"--system", "Be brief", "--session", folder.file("s.kv")}),
                              second = chat("And you?\n", session);
    for (const auto* result : {&whole, &first, &second}) EXPECT_EQ(0, result->exit_code) << result->err;
    EXPECT_EQ(whole.out, first.out + second.out);
    EXPECT_THAT(second.err, HasSubstr("session: 2 messages, "));
    // The second turn evaluates the same few tokens as in one conversation, and nothing again.
    EXPECT_NE("", last_prompt(whole.err));
    EXPECT_EQ(last_prompt(whole.err), last_prompt(second.err));
}

TEST(ChatProgram, ASessionThatIsNoConversationIsLeftAlone) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("s.kv");
    const auto run = test::run_program(
        {"run", kChatModel, "-p", "Hi", "-n", "2", "--kv-format", "f32", "--session", path});
    ASSERT_EQ(0, run.exit_code) << run.err;
    const std::string text = test::read_bytes(path);
    for (const auto& [content, message] : {std::pair(text, "is a session of a text, not of a conversation"),
                                           {std::string("Dear diary"), "is no session file"}}) {
        folder.write("s.kv", content);
        const test::ProgramResult result = chat("Hi\n", {"--session", path});
        EXPECT_EQ(0, result.exit_code) << result.err;
        EXPECT_NE("", result.out);
        EXPECT_THAT(result.err, testing::AllOf(HasSubstr(message), HasSubstr("nothing will be saved")));
        EXPECT_EQ(content, test::read_bytes(path));
    }
}

TEST(ChatProgram, RunLeavesAConversationAlone) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("s.kv");
    ASSERT_EQ(0, chat("Hi\n", {"--session", path}).exit_code);
    const std::string conversation = test::read_bytes(path);
    const auto run = test::run_program(
        {"run", kChatModel, "-p", "Hi", "-n", "2", "--kv-format", "f32", "--session", path});
    EXPECT_EQ(0, run.exit_code) << run.err;
    EXPECT_THAT(run.err, testing::AllOf(HasSubstr("is a session of a conversation, not of a text"),
                                        HasSubstr("nothing will be saved")));
    EXPECT_EQ(conversation, test::read_bytes(path));
}

}  // namespace
}  // namespace ingot
