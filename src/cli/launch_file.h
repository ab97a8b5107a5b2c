// Launch files: what the flags of `ingot metal run` say, as JSON. docs/checking.md has the schema.
#pragma once

#include "cli/metal_launch.h"

namespace ingot::cli {

// Fills `flags`, all but its file. Names of .npy files are relative to the launch file's folder. Errors: kIo,
// kCorrupt naming the key.
Result<void> read_launch_file(const std::string& path, LaunchFlags& flags);

}  // namespace ingot::cli
