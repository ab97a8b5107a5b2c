// The lines of a chat that start with a slash. What they do is chat.cpp's business.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace ingot::cli {

struct ChatCommand {
    enum Kind { kAsk, kHelp, kClear, kRegenerate, kSystem, kQuit } kind = kAsk;
    std::string text;  // the question, or what follows /system
};

// A line that doesn't start with a slash is a question. Error: an unknown command, with those that exist.
Result<ChatCommand> parse_chat_command(std::string_view line);

// One line for each command.
std::string chat_help();

}  // namespace ingot::cli
