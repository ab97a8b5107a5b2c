#include "cli/chat_commands.h"

namespace ingot::cli {
namespace {

struct Row {
    std::string_view name;
    ChatCommand::Kind kind;
    std::string_view argument;  // how help shows it; empty: none is taken
    std::string_view help;
};

constexpr Row kChatCommands[] = {
    {"/help", ChatCommand::kHelp, "", "list the commands"},
    {"/clear", ChatCommand::kClear, "", "forget the conversation; the system message stays"},
    {"/regen", ChatCommand::kRegenerate, "", "answer the last question again"},
    {"/system", ChatCommand::kSystem, " TEXT", "replace the system message; without TEXT, remove it"},
    {"/quit", ChatCommand::kQuit, "", "end (so does Ctrl-D)"},
};

std::string_view trim(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

Result<ChatCommand> parse_chat_command(std::string_view line) {
    if (!line.starts_with('/')) return ChatCommand{ChatCommand::kAsk, std::string(line)};
    const std::string_view name = line.substr(0, line.find_first_of(" \t"));
    const std::string_view argument = trim(line.substr(name.size()));
    std::string names;
    for (const Row& row : kChatCommands) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
        if (row.name != name) continue;
        if (row.argument.empty() && !argument.empty()) {
            return fail(ErrorKind::kInvalidArgument, "{} takes no argument, but '{}' follows", name,
                        argument);
        }
        return ChatCommand{row.kind, std::string(argument)};
    }
    return fail(ErrorKind::kInvalidArgument, "unknown command '{}'; there are: {}", name, names);
}

std::string chat_help() {
    std::string text;
    for (const Row& row : kChatCommands) {
        text += fmt::format("{:<14} {}\n", fmt::format("{}{}", row.name, row.argument), row.help);
    }
    return text;
}

}  // namespace ingot::cli
