// Launches under checkers and counters: what `ingot metal run --check` and `ingot metal check --launch`
// share.
#pragma once

#include "cli/metal_launch.h"

namespace ingot::cli {

struct WatchFlags {
    std::string checkers;  // as metal::check::parse_checkers() takes them; empty: none
    bool count = false, by_line = false;
    std::string sarif;  // a file to write; empty: none
    bool json = false;  // on stdout
};

void add_watch_flags(CLI::App& app, WatchFlags& flags);
// Runs a launch checked or counted or both. Counts go to stdout. Findings go to stderr and fail the command
// with exit code 1; a launch that can't be made, or that ends early, fails it with 2.
Result<void> run_watched(const LaunchFlags& launch, const WatchFlags& flags);

}  // namespace ingot::cli
