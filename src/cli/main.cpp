// The program: parses the command line, runs one subcommand, turns its Error into a line on stderr.
#include <cstdio>
#include <vector>

#include "cli/command.h"

namespace {

using ingot::cli::Action;

struct Command {
    const char* name;
    const char* help;
    ingot::cli::AddCommand add;
};

constexpr Command kCommands[] = {
    {"devices", "List the devices that can run a model", ingot::cli::add_devices},
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Ingot runs large language models, and Metal kernels, on any machine."};
    app.require_subcommand(1);
    app.set_version_flag("--version", INGOT_VERSION);
    std::vector<std::pair<CLI::App*, Action>> actions;
    for (const Command& command : kCommands) {
        CLI::App* sub = app.add_subcommand(command.name, command.help);
        actions.emplace_back(sub, command.add(*sub));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    for (const auto& [sub, action] : actions) {
        if (!sub->parsed()) continue;
        if (const auto result = action(); !result) {
            fmt::print(stderr, "ingot {}: {}\n", sub->get_name(), result.error().describe());
            return 1;
        }
    }
    return 0;
}
