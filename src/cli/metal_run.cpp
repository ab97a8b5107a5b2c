// `ingot metal run`: one kernel, buffers from .npy files or made up, results to .npy files.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/metal_watch.h"

namespace ingot::cli {
namespace {

struct MetalRunFlags {
    LaunchFlags launch;
    WatchFlags watch;
    unsigned repeat = 1;
};

void print_report(const MetalRunFlags& flags, const std::string& name, const metal::Kernel& kernel,
                  const metal::LaunchReport& report, std::vector<double> seconds) {
    std::ranges::sort(seconds);
    const double fastest_ms = 1e3 * seconds.front(), median_ms = 1e3 * seconds[seconds.size() / 2];
    const metal::CompileTimes& times = kernel.times;
    const double compile_ms = times.parse_ms + times.optimise_ms + times.generate_ms + times.load_ms;
    if (flags.watch.json) {
        nlohmann::ordered_json json{{"device", "Ingot virtual Metal device"},
                                    {"kernel", name},
                                    {"milliseconds", fastest_ms},
                                    {"median_milliseconds", median_ms},
                                    {"workers", report.workers},
                                    {"executor", metal::to_string(report.executor)},
                                    {"refusal", report.refusal},
                                    {"rendezvous", report.rendezvous},
                                    {"compile_ms", compile_ms},
                                    {"compiled", !kernel.from_cache},
                                    {"findings", report.findings}};
        fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
        return;
    }
    const std::string median = seconds.size() == 1 ? "" : fmt::format(" (median {:.3f})", median_ms);
    fmt::print("Ingot virtual Metal device, {}: {:.3f} ms{} on {} workers, {} ({} in {:.0f} ms)\n", name,
               fastest_ms, median, report.workers, metal::to_string(report.executor),
               kernel.from_cache ? "loaded" : "compiled", compile_ms);
    if (!report.refusal.empty()) fmt::print("not on vectors: {}\n", report.refusal);
    for (const std::string& finding : report.findings) fmt::print("finding: {}\n", finding);
}

Result<void> run(const MetalRunFlags& flags) {
    INGOT_ASSIGN(PreparedLaunch prepared, prepare_launch(flags.launch, false));
    const auto executor = metal::make_fiber_executor();
    metal::LaunchReport report;
    std::vector<double> seconds;
    for (unsigned i = 0; i < std::max(flags.repeat, 1u); ++i) {
        set_deadline(prepared.launch, flags.launch.device.time_limit_seconds);
        INGOT_ASSIGN(report, executor->run(*prepared.kernel, prepared.launch));
        INGOT_TRY(check_status(report));
        seconds.push_back(report.seconds);
    }
    print_report(flags, prepared.name, *prepared.kernel, report, std::move(seconds));
    take_back(prepared.bound);
    return write_results(prepared.bound);
}

}  // namespace

Action add_metal_run(CLI::App& app) {
    auto flags = std::make_shared<MetalRunFlags>();
    app.add_option("file", flags->launch.file,
                   "A .metal source, a .metallib, or a file that embeds one (FILE.dylib:0)")
        ->required();
    add_launch_flags(app, flags->launch);
    app.get_option("--threads")->required();
    app.add_option("--repeat", flags->repeat, "Run it this often and report the fastest and the median")
        ->capture_default_str();
    add_watch_flags(app, flags->watch);
    app.add_flag("--by-line", flags->watch.by_line, "--count, with the source's lines too");
    return [flags]() -> Result<void> {
        if (flags->launch.grid.empty() && flags->launch.grid_threads.empty()) {
            return fail(ErrorKind::kInvalidArgument, "--grid or --grid-threads is needed");
        }
        return flags->watch.watches() ? run_watched(flags->launch, flags->watch) : run(*flags);
    };
}

}  // namespace ingot::cli
