// `ingot tile run`: a kernel compiled and run on the virtual Metal device, arrays from and to .npy files.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/metal_watch.h"
#include "cli/tile.h"
#include "tile/api/compile.h"

namespace ingot::cli {
namespace {

constexpr size_t kEmptyBytes = 16;  // of a tensor without elements

struct TileRunFlags {
    std::string file, target = "metal-m4", path;
    TileInputFlags inputs;
    DeviceFlags device;
    WatchFlags watch;
    bool specialise = false, explain = false;
};

// What was emitted, as a kernel of the device. Nothing of it relies on lockstep, so nothing makes up for it.
Result<std::shared_ptr<const metal::Kernel>> device_kernel(const tile::CompiledKernel& c,
                                                           metal::CooperativeLayout layout, bool watched) {
    metal::msl::SourceOptions source;
    source.file = c.entry + ".metal";
    source.strict = true;
    // The device's oldest language reads what is written for older ones.
    source.standard = tile::to_string(std::max(c.language, tile::Language::kMetal3_0));
    INGOT_ASSIGN(const auto library, metal::msl::SourceLibrary::open(c.source, source));
    INGOT_ASSIGN(const auto module, library.compile(c.entry));
    INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
    metal::CompileOptions options;
    options.layout = layout;
    options.reconverge = false;
    options.instrument = watched;
    return compiler->compile(module, c.entry, options);
}

// Every tensor's memory: what was given, zeros for outputs that weren't.
Result<std::map<std::string, Array>> tensor_memory(const tile::Kernel& k, TileInputs& inputs) {
    std::map<std::string, Array> memory;
    for (const tile::BufferId id : k.tensors()) {
        INGOT_ASSIGN(auto shape, tile_shape_at_launch(k, id, inputs.dims));
        const auto it = inputs.tensors.find(k[id].name);
        memory[k[id].name] =
            it == inputs.tensors.end() ? zeros(k[id].type, std::move(shape)) : std::move(it->second);
    }
    return memory;
}

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

// The launch as the descriptor says it; `packed` and `memory` are what its buffers point to.
Result<PreparedLaunch> prepare_tile(const TileRunFlags& flags, const tile::CompiledKernel& c,
                                    const tile::Launch& launch, std::map<std::string, Array>& memory,
                                    std::vector<std::byte>& packed) {
    PreparedLaunch out;
    out.name = c.entry;
    INGOT_ASSIGN(const auto layout, parse_cooperative_layout(flags.device.layout));
    INGOT_ASSIGN(out.kernel, device_kernel(c, layout, flags.watch.watches()));
    metal::Launch& l = out.launch;
    l.group_threads = {launch.threads[0], launch.threads[1], launch.threads[2]};
    const uint64_t width = uint64_t{launch.groups[0]} * launch.threads[0];
    if (width > UINT32_MAX)
        return fail(ErrorKind::kLimit, "{}: {} groups of {} threads along one axis; {} threads are accepted",
                    c.entry, launch.groups[0], launch.threads[0], UINT32_MAX);
    l.grid_threads = {uint32_t(width), launch.groups[1], launch.groups[2]};
    for (const tile::TensorArgument& t : c.tensors) {
        Bound& bound =
            out.bound.emplace_back(Bound{.slot = t.index, .initialised = t.role != tile::Role::kOut});
        std::vector<std::byte>& data = memory.at(t.name).data;
        // An empty tensor is bound, too: the kernel gets its address and reads nothing there.
        if (data.empty()) bound.array.data.resize(kEmptyBytes);
        std::vector<std::byte>& place = data.empty() ? bound.array.data : data;
        l.buffers[t.index] = {place.data(), place.size()};
    }
    if (c.fields_index) l.buffers[*c.fields_index] = {packed.data(), packed.size()};
    INGOT_ASSIGN(l.executor, chosen_executor(flags.device));
    return out;
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
    if (flags.specialise) options.dims = inputs.dims;
    INGOT_ASSIGN(options.path, parse_tile_path(flags.path));
    INGOT_ASSIGN(const tile::CompiledKernel compiled, tile::compile(k, options));
    if (flags.explain) fmt::print(stderr, "{}", compiled.explain());
    INGOT_ASSIGN(const tile::Launch launch, compiled.launch(inputs.dims));
    INGOT_ASSIGN(auto packed, compiled.pack(inputs.dims, inputs.scalars));
    INGOT_ASSIGN(PreparedLaunch prepared, prepare_tile(flags, compiled, launch, memory, packed));
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
    add_device_flags(app, flags->device);
    app.add_flag("--explain", flags->explain, "Say what the compiler decided, and why");
    add_watch_flags(app, flags->watch);
    return [flags] { return run_tile(*flags); };
}

}  // namespace ingot::cli
