// Mistakes with `ingot chat`: one line on stderr, nothing on stdout, exit code 1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/run_program.h"

namespace ingot {
namespace {

using test::run_program;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kChatModel = INGOT_TEST_DATA "/models/llama.gguf";
const std::string kModelWithoutTemplate = INGOT_TEST_DATA "/models/gemma3.gguf";

test::ProgramResult chat_with_template(const std::string& source, const std::string& lines = "Hi\n") {
    const test::TemporaryFolder folder;
    return run_program({"chat", kChatModel, "-n", "2", "--template", folder.write("chat.jinja", source)},
                       {lines, {}});
}

void expect_error(const test::ProgramResult& result, const std::string& part) {
    EXPECT_EQ(1, result.exit_code);
    EXPECT_EQ("", result.out);
    EXPECT_THAT(result.err, StartsWith("ingot chat: "));
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(1, std::ranges::count(result.err, '\n')) << result.err;
}

TEST(ChatErrors, AModelWithoutATemplateSaysSoAndNamesTheFlag) {
    expect_error(run_program({"chat", kModelWithoutTemplate}, {"Hi\n", {}}),
                 "no chat template (tokenizer.chat_template); give one "
                 "with --template FILE");
}

TEST(ChatErrors, ATemplateThatDoesNotParseRefusesTheChatWithLineAndColumn) {
    expect_error(chat_with_template("a\n{% if %}"),
                 "chat template: line 2, column 7: Expected an expression");
    expect_error(chat_with_template("{{ messages | nope }}"), "line 1, column 15: No filter named 'nope'.");
}

TEST(ChatErrors, AMissingOrEmptyTemplateFileIsNamed) {
    expect_error(run_program({"chat", kChatModel, "--template", "/nowhere/x.jinja"}), "/nowhere/x.jinja");
    expect_error(chat_with_template(""), "is empty");
}

TEST(ChatErrors, AnUnknownCommandEndsAPipe) {
    expect_error(chat_with_template("{{ messages[0].content }}", "/nope\nHi\n"),
                 "unknown command '/nope'; there are: /help, ");
}

TEST(ChatErrors, AVariableNeedsANameAndAValue) {
    expect_error(run_program({"chat", kChatModel, "--var", "thinking"}),
                 "--var 'thinking': NAME=VALUE expected");
}

TEST(ChatErrors, AVariableThatTheConversationSetsIsRefusedByName) {
    for (const std::string name : {"messages", "add_generation_prompt"})
        expect_error(run_program({"chat", kChatModel, "--var", name + "=[]"}),
                     "--var '" + name + "=[]': the conversation sets " + name + " itself");
}

}  // namespace
}  // namespace ingot
