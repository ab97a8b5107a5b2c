// `ingot tile tune`: tries plans of a kernel on a device, and keeps the one that later compiles use.
#include <algorithm>
#include <charconv>
#include <chrono>

#include "cli/tile_launch.h"
#include "metal/count/counter.h"
#include "metal/exec/compiler.h"
#include "tile/tuner/metal_device.h"

namespace ingot::cli {
namespace {

struct TileTuneFlags {
    std::string file, target = "metal-m4", path, device, budget = "60s", database = "ingot-tuning.db";
    TileInputFlags inputs;
    DeviceFlags virtual_device;
    size_t shortlist = tile::TuningRequest{}.shortlist;
    double tolerance = 0;
    bool quiet = false;
};

// What the device counted, at the target's prices, over the simdgroups that run at once: a number to rank by,
// no time. `useful`: simdgroups of the program's groups, without those that only fill up an order of groups.
double priced(const metal::count::Counts& c, const tile::Costs& p, double useful) {
    double tensor_products = 0, arithmetic = 0;
    for (const metal::count::ProductCounts& t : c.tensor_products)
        tensor_products += double(t.operations()) * t.shape.m * t.shape.n * t.shape.k / 512;
    for (const uint64_t n : c.arithmetic) arithmetic += double(n);
    double bytes = double(c.threadgroup_memory.bytes_read + c.threadgroup_memory.bytes_written);
    for (const metal::count::MemoryCounts& b : c.buffers) bytes += double(b.bytes_read + b.bytes_written);
    constexpr double kElementBytes = 4;
    const double transfers = double(c.matrix_loads_device + c.matrix_loads_threadgroup +
                                    c.matrix_stores_device + c.matrix_stores_threadgroup);
    const double work = double(c.matrix_products) * p.simdgroup_matrix_issue +
                        transfers * p.simdgroup_fragment_transfer + tensor_products * p.mpp_matrix_issue +
                        double(c.tensor_operations) * p.mpp_operation +
                        bytes / kElementBytes * p.simdgroup_element + arithmetic * p.counted_arithmetic +
                        double(c.barriers) * p.counted_barrier + double(c.simdgroups) * p.simdgroup_setup;
    return work / std::max(1.0, std::min(useful, p.mpp_concurrent_subgroups));
}

using TileMemory = std::map<std::string, Array>;

class VirtualLaunch final : public tile::TuningLaunch {
  public:
    VirtualLaunch(const tile::Kernel& k, const TileMemory& initial, const tile::Costs& costs)
        : k_(k), initial_(initial), memory_(initial), costs_(costs) {}

    Result<void> prepare(const tile::CompiledKernel& c, const TileInputs& inputs, const DeviceFlags& device) {
        INGOT_ASSIGN(const tile::Launch launch, c.launch(inputs.dims));
        INGOT_ASSIGN(packed_, c.pack(inputs.dims, inputs.scalars));
        INGOT_ASSIGN(prepared_, prepare_tile(c, launch, device, true, memory_, packed_));
        simdgroups_ = (launch.threads[0] + 31) / 32;
        for (const tile::ExprId e : c.kernel.grid_extents) {
            INGOT_ASSIGN(const int64_t groups, tile::evaluate_at_launch(c.kernel, e, inputs.dims));
            simdgroups_ *= double(groups);
        }
        return {};
    }

    Result<tile::TuningOutputs> run() override {
        INGOT_TRY(measure());
        tile::TuningOutputs out;
        for (const tile::BufferId id : k_.tensors())
            if (k_[id].role != tile::Role::kIn)
                out[k_[id].name] = to_doubles(memory_.at(k_[id].name), k_[id].type);
        return out;
    }

    Result<double> measure() override {
        for (auto& [name, array] : memory_) std::ranges::copy(initial_.at(name).data, array.data.begin());
        if (prepared_.launch.grid_threads.count() == 0) return 0;
        INGOT_ASSIGN(const metal::count::Counts counts,
                     metal::count::run_counted(*executor_, *prepared_.kernel, prepared_.launch));
        return priced(counts, costs_, simdgroups_);
    }

  private:
    const tile::Kernel& k_;
    const TileMemory& initial_;
    TileMemory memory_;
    const tile::Costs& costs_;
    std::vector<std::byte> packed_;
    PreparedLaunch prepared_;
    double simdgroups_ = 1;
    std::unique_ptr<metal::Executor> executor_ = metal::make_fiber_executor();
};

class VirtualDevice final : public tile::TuningDevice {
  public:
    VirtualDevice(const tile::Kernel& k, const TileInputs& inputs, const TileMemory& initial,
                  const DeviceFlags& flags, const tile::Costs& costs, std::string compiler)
        : k_(k),
          inputs_(inputs),
          initial_(initial),
          flags_(flags),
          costs_(costs),
          compiler_(std::move(compiler)) {}

    std::string name() const override { return "Ingot virtual Metal device"; }
    std::string compiler() const override { return compiler_; }
    std::string ranking() const override { return "counters of the virtual device, priced; no time"; }
    Result<std::unique_ptr<tile::TuningLaunch>> prepare(const tile::CompiledKernel& c) override {
        auto launch = std::make_unique<VirtualLaunch>(k_, initial_, costs_);
        INGOT_TRY(launch->prepare(c, inputs_, flags_));
        return launch;
    }

  private:
    const tile::Kernel& k_;
    const TileInputs& inputs_;
    const TileMemory& initial_;
    const DeviceFlags& flags_;
    const tile::Costs& costs_;
    std::string compiler_;
};

Result<double> parse_seconds(const std::string& text) {
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(parsed.ptr, size_t(text.data() + text.size() - parsed.ptr));
    const double scale = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    constexpr double kMost = 7 * 24 * 3600;
    if (parsed.ec != std::errc{} || !(value * scale > 0) || value * scale > kMost)
        return fail(ErrorKind::kInvalidArgument, "a budget of '{}'; 90s, 5m or 2h is meant, up to a week",
                    text);
    return value * scale;
}

// Rounding of the narrowest floats that the kernel holds, with room for sums in another order.
double tolerance_of(const tile::Kernel& k) {
    double out = 1e-4;
    for (const tile::Buffer& b : k.buffers)
        out = std::max(out, b.type == tile::DType::kF16 ? 4e-3 : b.type == tile::DType::kBF16 ? 3e-2 : 0.0);
    return out;
}

void print_tuning(const tile::TuningReport& r, const std::string& ranking, const std::string& database) {
    fmt::print(
        "tried {} of {} candidates: {} measured, {} the same source, {} failed, {} wrong; {} refused, {} "
        "left\n",
        r.measured + r.same + r.failed + r.wrong, r.candidates, r.measured, r.same, r.failed, r.wrong,
        r.refused, r.left);
    fmt::print("the search goes on with: {}\n", r.searched);
    fmt::print(
        "replayed {} rounds in balanced order, medians ({}): {:.6g} for {:.6g} of the planner's choice and "
        "{:.6g} of "
        "the reference way\n",
        r.replay_rounds, ranking, r.plan.replay_median, r.plan.planner_median, r.reference_median);
    fmt::print("{}: {}\n", database, r.plan.what);
}

// Inputs that nothing is given for are made up.
TileInputFlags with_made_up(const tile::Kernel& k, TileInputFlags flags) {
    uint32_t seed = 0;
    for (const tile::BufferId id : k.tensors()) {
        const std::string begin = k[id].name + "=";
        const bool given = std::ranges::any_of(
            flags.inputs, [&](const std::string& flag) { return flag.starts_with(begin); });
        ++seed;
        if (!given && k[id].role != tile::Role::kOut)
            flags.inputs.push_back(fmt::format("{}randn:{}", begin, seed));
    }
    return flags;
}

// Steps of the interpreter, about: elements and multiplications of all groups.
double work_of(const tile::CompiledKernel& c) {
    double steps = double(c.group_plan.work.independent_elements);
    for (const tile::PlannedProduct& p : c.group_plan.products)
        steps += double(p.work.m) * p.work.n * p.work.k * double(p.work.executions);
    return steps * double(c.group_plan.work.programs);
}

// What the outputs should be, from the interpreter or, where that would take all day, from the reference way.
Result<void> expect(const tile::Kernel& k, const tile::Arguments& arguments, tile::TuningDevice& device,
                    tile::TuningRequest& request) {
    constexpr double kMostSteps = 3e7;
    INGOT_ASSIGN(const tile::CompiledKernel planned, tile::compile(k, request.compile));
    if (work_of(planned) <= kMostSteps) {
        INGOT_ASSIGN(request.expected, tile::interpret(k, arguments));
        request.validated_by = "the interpreter, in double";
        return {};
    }
    tile::CompileOptions reference = request.compile;
    reference.planner.enabled = false;
    INGOT_ASSIGN(const tile::CompiledKernel compiled, tile::compile(k, reference));
    INGOT_ASSIGN(const auto launch, device.prepare(compiled));
    INGOT_ASSIGN(request.expected, launch->run());
    request.validated_by = "the reference way on the device";
    return {};
}

Result<void> tune_tile(const TileTuneFlags& flags) {
    if (flags.device != "virtual" && flags.device != "metal")
        return fail(ErrorKind::kUnsupported, "no device '{}' to tune on; there are virtual and metal",
                    flags.device);
    const bool counts = flags.device == "virtual";
    INGOT_ASSIGN(const tile::Kernel k, load_tile_kernel(flags.file));
    INGOT_ASSIGN(TileInputs inputs, read_tile_inputs(k, with_made_up(k, flags.inputs)));
    tile::TuningRequest request;
    request.compile.target = flags.target;
    request.compile.dims = inputs.dims;
    INGOT_ASSIGN(request.compile.path, parse_tile_path(flags.path));
    INGOT_ASSIGN(request.budget_seconds, parse_seconds(flags.budget));
    request.shortlist = flags.shortlist;
    request.tolerance = flags.tolerance > 0 ? flags.tolerance : tolerance_of(k);
    if (counts) request.measurements = request.replays = 1;  // the same in every run
    request.seconds = [] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    request.say = [&](const std::string& line) {
        if (!flags.quiet) fmt::print(stderr, "{}\n", line);
    };
    INGOT_ASSIGN(const auto database, tile::TuningDatabase::open(flags.database, true));
    tile::Arguments arguments{inputs.dims, inputs.scalars, {}};
    for (const tile::BufferId id : k.tensors()) {
        const auto it = inputs.tensors.find(k[id].name);
        if (it != inputs.tensors.end()) arguments.tensors[k[id].name] = to_doubles(it->second, k[id].type);
    }
    INGOT_ASSIGN(const TileMemory initial, tensor_memory(k, inputs));
    INGOT_ASSIGN(const tile::Costs costs, tile::costs_of(flags.target));
    std::unique_ptr<tile::TuningDevice> device;
    if (counts) {
        INGOT_ASSIGN(metal::Compiler * compiler, metal::compiler());
        device = std::make_unique<VirtualDevice>(k, inputs, initial, flags.virtual_device, costs,
                                                 compiler->version());
    } else {
        INGOT_ASSIGN(device, tile::metal_device(arguments));
    }
    INGOT_TRY(expect(k, arguments, *device, request));
    INGOT_ASSIGN(const tile::TuningReport report, tile::tune(k, *device, request, *database));
    print_tuning(report, device->ranking(), flags.database);
    return {};
}

}  // namespace

Action add_tile_tune(CLI::App& app) {
    auto flags = std::make_shared<TileTuneFlags>();
    app.add_option("FILE", flags->file, "A .tile file, or the name of a kernel in `ingot tile list`")
        ->required();
    app.add_option(
           "--device", flags->device,
           "Where plans are tried: virtual ranks by counters, metal by the time of the system's device")
        ->required()
        ->option_text("DEVICE");
    app.add_option("--budget", flags->budget, "Time for all of it, such as 90s or 5m")
        ->option_text(fmt::format("TIME [{}]", flags->budget));
    app.add_option("--db", flags->database, "The file of everything tried and of tuned plans")
        ->option_text(fmt::format("DB [{}]", flags->database));
    app.add_option("--shortlist", flags->shortlist, "Plans that the work model sends to the device")
        ->option_text(fmt::format("NUMBER [{}]", flags->shortlist));
    app.add_option("--tolerance", flags->tolerance,
                   "Accepted difference of an element, in parts of its output's largest magnitude")
        ->option_text("X [by the kernel's types]");
    app.add_option("--target", flags->target, "metal-m1 to metal-m5, metal-m4-metal4")
        ->option_text(fmt::format("TARGET [{}]", flags->target));
    app.add_option("--path", flags->path,
                   "Refuse every other path for products: direct, shared, simdgroup or scalar")
        ->option_text("PATH");
    add_tile_input_flags(app, flags->inputs);
    add_device_flags(app, flags->virtual_device);
    app.add_flag("--quiet", flags->quiet, "Don't say of each candidate how it ended");
    return [flags] { return tune_tile(*flags); };
}

}  // namespace ingot::cli
