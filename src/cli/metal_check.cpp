// `ingot metal check`: with a launch, runs a kernel under checkers; without one, lowers the kernels of a
// library.
#include "cli/exit_code.h"
#include "cli/launch_file.h"
#include "cli/metal_watch.h"
#include "metal/check/finding.h"

namespace ingot::cli {
namespace {

struct CheckLaunchFlags {
    std::string launch;
    WatchFlags watch;
};

std::string list_of_checkers() {
    std::string text = "Checkers, separated by commas, or all:";
    for (const auto& facts : metal::check::all_checkers()) {
        text +=
            fmt::format("\n  {}: {}{}", facts.name, facts.text, facts.by_default ? "" : " (off by default)");
    }
    return text;
}

Result<void> check_launch(const CLI::App& app, const CheckLaunchFlags& flags) {
    code_of_failure() = 2;
    LaunchFlags launch;
    launch.file = app.get_option("file")->as<std::string>();
    launch.trust = app.count("--trust") != 0;
    launch.may_bind_more = true;  // a host that recorded it did so
    INGOT_TRY(read_launch_file(flags.launch, launch));
    if (app.count("--kernel") != 0) launch.kernel = app.get_option("--kernel")->as<std::string>();
    return run_watched(launch, flags.watch);
}

}  // namespace

Action add_metal_check(CLI::App& app) {
    auto flags = std::make_shared<CheckLaunchFlags>();
    const Action lower = add_lowering(app);
    app.get_option("file")->description(
        "A .metal source, a .metallib, or a file that embeds one (FILE.dylib:0)");
    app.footer(
        "With --launch a kernel runs under checkers: exit code 0 if nothing was found, 1 with a report on "
        "stderr if "
        "something was, 2 if the launch can't be made. Without it, all kernels of a library are lowered: 1 "
        "if this "
        "device doesn't serve some of them.");
    constexpr const char* kGroup = "With --launch: run a kernel and report what it does wrong";
    auto* launch = app.add_option("--launch", flags->launch,
                                  "A launch file: which kernel, what is bound, how many threads")
                       ->group(kGroup);
    flags->watch.checkers = "default";
    app.add_option("--check", flags->watch.checkers, list_of_checkers())
        ->capture_default_str()
        ->group(kGroup);
    add_sarif_flag(app, flags->watch);
    app.get_option("--sarif")->group(kGroup);
    app.add_flag("--json", flags->watch.json, "Print the findings as JSON")->group(kGroup);
    return
        [&app, flags, lower, launch] { return launch->count() != 0 ? check_launch(app, *flags) : lower(); };
}

}  // namespace ingot::cli
