// A command that consists of subcommands, such as `ingot metal` and `ingot tile`: one table row each.
#pragma once

#include <span>

#include "cli/command.h"

namespace ingot::cli {

struct Part {
    const char* name;
    const char* help;
    AddCommand add;
};

// Declares all of them on `app`; the action runs the one that was chosen and names it in its error.
Action add_parts(CLI::App& app, std::span<const Part> parts);

}  // namespace ingot::cli
