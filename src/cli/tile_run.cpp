// `ingot tile run`: a kernel compiled and run on the virtual Metal device, arrays from and to .npy files.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/metal_watch.h"
#include "cli/tile_launch.h"
#include "tile/tuner/database.h"

namespace ingot::cli {
namespace {

struct TileRunFlags {
    std::string file, target = "metal-m4", path, tuned;
    TileInputFlags inputs;
    DeviceFlags device;
    WatchFlags watch;
    bool specialise = false, explain = false;
};

void print_tile_report(const TileRunFlags& flags, const tile::CompiledKernel& c, const tile::Launch& l,
                       const metal::LaunchReport& report) {
    if (flags.watch.json) {
        const nlohmann::ordered_json json{{"device", "Ingot virtual Metal device"},
                                          {"kernel", c.entry},
                                          {"target", c.target},
                                          {"groups", l.groups},
                                          {"threads", l.threads},
                                          {"threadgroup_bytes", c.threadgroup_bytes},
                                          {"milliseconds", report.seconds * 1e3},
                                          {"executor", metal::to_string(report.executor)},
                                          {"findings", report.findings}};
        fmt::print("{}\n", json.dump());
        return;
    }
    fmt::print("Ingot virtual Metal device, {} for {}: {:.3f} ms, {} x {} x {} groups of {} threads, {}\n",
               c.entry, c.target, report.seconds * 1e3, l.groups[0], l.groups[1], l.groups[2], l.threads[0],
               metal::to_string(report.executor));
    for (const std::string& finding : report.findings) fmt::print("finding: {}\n", finding);
}

Result<void> launch_tile(const TileRunFlags& flags, const tile::CompiledKernel& c, const tile::Launch& launch,
                         PreparedLaunch& prepared) {
    const bool idle = std::ranges::count(launch.groups, 0u) != 0;  // a grid with a 0 has nothing to do
    if (!idle && flags.watch.watches())
        return run_watched(prepared, flags.device.time_limit_seconds, c.entry + ".metal", flags.watch);
    metal::LaunchReport report;
    if (!idle) {
        set_deadline(prepared.launch, flags.device.time_limit_seconds);
        INGOT_ASSIGN(report, metal::make_fiber_executor()->run(*prepared.kernel, prepared.launch));
        INGOT_TRY(check_status(report));
    }
    print_tile_report(flags, c, launch, report);
    return {};
}

Result<void> run_tile(const TileRunFlags& flags) {
    INGOT_ASSIGN(const tile::Kernel k, load_tile_kernel(flags.file));
    INGOT_ASSIGN(TileInputs inputs, read_tile_inputs(k, flags.inputs));
    INGOT_ASSIGN(auto memory, tensor_memory(k, inputs));
    tile::CompileOptions options;
    options.target = flags.target;
    // A tuned plan holds for sizes that are known.
    if (flags.specialise || !flags.tuned.empty()) options.dims = inputs.dims;
    INGOT_ASSIGN(options.path, parse_tile_path(flags.path));
    if (!flags.tuned.empty()) {
        INGOT_ASSIGN(options.planner, tile::tuned_planner(flags.tuned, k, options));
    }
    INGOT_ASSIGN(const tile::CompiledKernel compiled, tile::compile(k, options));
    if (flags.explain) fmt::print(stderr, "{}", compiled.explain());
    INGOT_ASSIGN(const tile::Launch launch, compiled.launch(inputs.dims));
    INGOT_ASSIGN(auto packed, compiled.pack(inputs.dims, inputs.scalars));
    INGOT_ASSIGN(PreparedLaunch prepared,
                 prepare_tile(compiled, launch, flags.device, flags.watch.watches(), memory, packed));
    INGOT_TRY(launch_tile(flags, compiled, launch, prepared));
    for (const tile::BufferId id : k.tensors())
        if (k[id].role == tile::Role::kIn) memory.erase(k[id].name);
    return write_tile_outputs(memory, flags.inputs);
}

}  // namespace

Action add_tile_run(CLI::App& app) {
    auto flags = std::make_shared<TileRunFlags>();
    app.add_option("FILE", flags->file, "A .tile file, or the name of a kernel in `ingot tile list`")
        ->required();
    add_tile_input_flags(app, flags->inputs);
    app.add_option("--target", flags->target, "metal-m1 to metal-m5, metal-m4-metal4")
        ->option_text(fmt::format("TARGET [{}]", flags->target));
    app.add_option("--path", flags->path,
                   "Refuse every other path for products: direct, shared, simdgroup or scalar")
        ->option_text("PATH");
    app.add_flag("--specialise", flags->specialise, "Compile for these dims alone");
    app.add_option("--tuned", flags->tuned, "Take the plan that `ingot tile tune` wrote to this file")
        ->option_text("DB");
    add_device_flags(app, flags->device);
    app.add_flag("--explain", flags->explain, "Say what the compiler decided, and why");
    add_watch_flags(app, flags->watch);
    return [flags] { return run_tile(*flags); };
}

}  // namespace ingot::cli
