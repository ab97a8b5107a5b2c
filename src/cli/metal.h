// The parts of `ingot metal`, one file each.
#pragma once

#include "cli/command.h"
#include "metal/exec/compiler.h"

namespace ingot::cli {

Action add_metal_list(CLI::App& app);
Action add_metal_dis(CLI::App& app);
Action add_metal_check(CLI::App& app);
Action add_metal_compile(CLI::App& app);
Action add_metal_run(CLI::App& app);
Action add_metal_devices(CLI::App& app);
Action add_metal_cache(CLI::App& app);

// What `ingot metal check` does without a launch: its flags, and the action.
Action add_lowering(CLI::App& app);

// --trust: read the file's modules in this process. At first set if INGOT_METAL_TRUST=1.
void add_trust_flag(CLI::App& app, bool& trust);

// Repeated --constant flags: "INDEX=TYPE:VALUE" or "NAME=TYPE:VALUE", types as `ingot metal list` names them.
Result<metal::Constants> parse_constants(const std::vector<std::string>& flags);

// "nax", "rowmajor" or "scrambled".
Result<metal::CooperativeLayout> parse_cooperative_layout(std::string_view name);

// --kernel's value may hold * and ?.
bool matches_glob(std::string_view text, std::string_view pattern);

}  // namespace ingot::cli
