// Launches under checkers and counters: what `ingot metal run --check` and `ingot metal check --launch`
// share.
#pragma once

#include "cli/metal_launch.h"
#include "metal/check/finding.h"

namespace ingot::cli {

struct WatchFlags {
    std::string checkers;  // as metal::check::parse_checkers() takes them; empty: none
    bool count = false, by_line = false;
    std::string sarif;  // a file to write; empty: none
    bool json = false;  // on stdout

    bool counts() const { return count || by_line; }
    bool watches() const { return counts() || !checkers.empty(); }
};

void add_sarif_flag(CLI::App& app, WatchFlags& flags);
// --check, --sarif, --count and --json, of commands that run a kernel watched or not.
void add_watch_flags(CLI::App& app, WatchFlags& flags);
// Runs a launch checked or counted or both. Counts go to stdout. Findings go to stderr and fail the command
// with exit code 1; a launch that can't be made, or that ends early, fails it with 2.
Result<void> run_watched(const LaunchFlags& launch, const WatchFlags& flags);
// The same for a launch that was prepared with a kernel to be watched; `file` is what SARIF names,
// `found_before` is reported too. Where nothing is found the caller may use what the launch wrote.
Result<void> run_watched(PreparedLaunch& prepared, double time_limit_seconds, const std::string& file,
                         const WatchFlags& flags, std::vector<metal::check::Finding> found_before = {});

}  // namespace ingot::cli
