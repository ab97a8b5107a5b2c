#include "cli/metal_watch.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "cli/exit_code.h"
#include "metal/check/layouts.h"
#include "metal/check/report.h"
#include "metal/check/session.h"
#include "metal/count/report.h"

namespace ingot::cli {
namespace {

constexpr int kNoLaunch = 2;

metal::check::Request make_request(const PreparedLaunch& prepared,
                                   std::vector<metal::check::CheckerId> checkers) {
    metal::check::Request request;
    request.checkers = std::move(checkers);
    for (const Bound& bound : prepared.bound) request.buffers[bound.slot].initialised = bound.initialised;
    return request;
}

using Json = nlohmann::ordered_json;

void print_text(const PreparedLaunch& prepared, const metal::check::Outcome& outcome,
                const metal::count::Counter& counter, const WatchFlags& flags) {
    const auto source = metal::check::lines_of_files();
    if (!flags.checkers.empty()) fmt::print(stderr, "{}", metal::check::to_text(outcome.findings, source));
    if (!outcome.report.refusal.empty()) fmt::print(stderr, "not on vectors: {}\n", outcome.report.refusal);
    if (!flags.counts()) return;
    fmt::print("kernel '{}'\n{}", prepared.name, metal::count::to_text(counter.counts()));
    if (!flags.by_line) return;
    const auto lines = metal::count::by_line(counter.counts(), prepared.kernel->instrumentation);
    fmt::print("\n{}", metal::count::to_text(lines, source));
}

void print_json(const PreparedLaunch& prepared, const metal::check::Outcome& outcome,
                const metal::count::Counter& counter, const WatchFlags& flags) {
    Json json{{"kernel", prepared.name},
              {"executor", metal::to_string(outcome.report.executor)},
              {"refusal", outcome.report.refusal},
              {"milliseconds", outcome.report.seconds * 1e3}};
    if (!flags.checkers.empty()) json["findings"] = Json::parse(metal::check::to_json(outcome.findings));
    if (flags.counts()) {
        const auto lines = metal::count::by_line(counter.counts(), prepared.kernel->instrumentation);
        json["counts"] = Json::parse(metal::count::to_json(counter.counts(), lines));
    }
    fmt::print("{}\n", json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

void add_sarif_flag(CLI::App& app, WatchFlags& flags) {
    app.add_option("--sarif", flags.sarif, "Write the findings as SARIF 2.1.0, for annotations of CI systems")
        ->option_text("FILE");
}

void add_watch_flags(CLI::App& app, WatchFlags& flags) {
    app.add_option_function<std::string>(
           "--check",
           [&flags](const std::string& checkers) {
               flags.checkers = checkers.empty() ? "default" : checkers;
           },
           "Watch it run and report what is wrong: all, or checkers separated by commas "
           "(`ingot metal check --help` lists them)")
        ->expected(0, 1)
        ->default_str("default")
        ->option_text("[CHECKERS]");
    add_sarif_flag(app, flags);
    app.add_flag("--count", flags.count, "Count what it does: matrix operations, bytes, barriers...");
    app.add_flag("--json", flags.json, "Print JSON");
}

// Runs the launch in each layout of cooperative tensors, on buffers of its own.
Result<void> add_layouts(const LaunchFlags& launch, const metal::Kernel& kernel,
                         std::vector<metal::check::Finding>& findings) {
    const auto executor = metal::make_fiber_executor();
    const auto run = [&](metal::CooperativeLayout layout) -> Result<metal::check::BuffersAfter> {
        LaunchFlags flags = launch;
        flags.device.layout = layout == metal::CooperativeLayout::kNax        ? "nax"
                              : layout == metal::CooperativeLayout::kRowMajor ? "rowmajor"
                                                                              : "scrambled";
        flags.source.watch_locals = flags.watch_overflow = false;
        INGOT_ASSIGN(PreparedLaunch prepared, prepare_launch(flags, false));
        set_deadline(prepared.launch, launch.device.time_limit_seconds);
        INGOT_ASSIGN(const auto report, executor->run(*prepared.kernel, prepared.launch));
        INGOT_TRY(check_status(report));
        take_back(prepared.bound);
        metal::check::BuffersAfter after;
        for (const Bound& bound : prepared.bound) after[bound.slot] = bound.array.data;
        return after;
    };
    INGOT_ASSIGN(const auto found, metal::check::compare_layouts(kernel, run));
    if (found) findings.push_back(*found);
    return {};
}

bool has_checker(const std::vector<metal::check::CheckerId>& checkers, metal::check::CheckerId id) {
    return std::ranges::find(checkers, id) != checkers.end();
}

Result<void> run_watched(const LaunchFlags& launch, const WatchFlags& flags) {
    code_of_failure() = kNoLaunch;
    std::vector<metal::check::CheckerId> checkers;
    if (!flags.checkers.empty()) {
        INGOT_ASSIGN(checkers, metal::check::parse_checkers(flags.checkers));
    }
    LaunchFlags watched = launch;
    watched.source.watch_locals = has_checker(checkers, metal::check::CheckerId::kUninitialised);
    watched.watch_overflow = has_checker(checkers, metal::check::CheckerId::kOverflow);
    INGOT_ASSIGN(PreparedLaunch prepared, prepare_launch(watched, true));
    std::vector<metal::check::Finding> of_layouts;
    if (has_checker(checkers, metal::check::CheckerId::kTensor))
        INGOT_TRY(add_layouts(launch, *prepared.kernel, of_layouts));
    return run_watched(prepared, launch.device.time_limit_seconds, launch.file, flags, std::move(of_layouts));
}

Result<void> run_watched(PreparedLaunch& prepared, double time_limit_seconds, const std::string& file,
                         const WatchFlags& flags, std::vector<metal::check::Finding> found_before) {
    code_of_failure() = kNoLaunch;
    std::vector<metal::check::CheckerId> checkers;
    if (!flags.checkers.empty()) {
        INGOT_ASSIGN(checkers, metal::check::parse_checkers(flags.checkers));
    }
    auto request = make_request(prepared, std::move(checkers));
    metal::count::Counter counter;
    if (flags.counts()) request.others.push_back(&counter);
    const auto executor = metal::make_fiber_executor();
    set_deadline(prepared.launch, time_limit_seconds);
    INGOT_ASSIGN(auto outcome,
                 metal::check::run_checked(*executor, *prepared.kernel, prepared.launch, request));
    outcome.findings.insert(outcome.findings.end(), found_before.begin(), found_before.end());
    (flags.json ? print_json : print_text)(prepared, outcome, counter, flags);
    if (!flags.sarif.empty()) {
        const std::string text = metal::check::to_sarif(outcome.findings, file);
        INGOT_TRY(write_file(flags.sarif, std::as_bytes(std::span(text))));
    }
    INGOT_TRY(check_status(outcome.report));
    take_back(prepared.bound);
    INGOT_TRY(write_results(prepared.bound));
    if (outcome.findings.empty()) return {};
    code_of_failure() = 1;
    return fail(
        ErrorKind::kInvalidArgument, "{} of kernel '{}'",
        outcome.findings.size() == 1 ? "a finding" : fmt::format("{} findings", outcome.findings.size()),
        prepared.name);
}

}  // namespace ingot::cli
