#include "cli/chat_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot::cli {
namespace {

using testing::HasSubstr;

TEST(ChatCommands, ALineWithoutASlashIsAQuestion) {
    const auto command = parse_chat_command("What is /dev/null? ");
    ASSERT_TRUE(command);
    EXPECT_EQ(ChatCommand::kAsk, command->kind);
    EXPECT_EQ("What is /dev/null? ", command->text);
}

TEST(ChatCommands, SystemTakesTheRestOfTheLine) {
    const auto command = parse_chat_command("/system  Be terse.  ");
    ASSERT_TRUE(command);
    EXPECT_EQ(ChatCommand::kSystem, command->kind);
    EXPECT_EQ("Be terse.", command->text);
    EXPECT_EQ("", parse_chat_command("/system")->text);
}

TEST(ChatCommands, EachCommandIsInTheHelp) {
    for (const char* name : {"/help", "/clear", "/regen", "/system", "/quit"}) {
        EXPECT_TRUE(parse_chat_command(name)) << name;
        EXPECT_THAT(chat_help(), HasSubstr(std::string(name)));
    }
}

TEST(ChatCommands, MistakesNameWhatWouldBeAccepted) {
    EXPECT_THAT(parse_chat_command("/exit").error().message,
                HasSubstr("/help, /clear, /regen, /system, /quit"));
    EXPECT_THAT(parse_chat_command("/clear all").error().message, HasSubstr("'all'"));
}

}  // namespace
}  // namespace ingot::cli
