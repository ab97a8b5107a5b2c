// `ingot tile plan`: what the planner decides for a kernel, what else it could be, and why not.
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "cli/tile.h"
#include "tile/plan/report.h"
#include "tile/tuner/database.h"

namespace ingot::cli {
namespace {

struct TilePlanFlags {
    std::string file, target = "metal-m4", svg, costs, tuned;
    std::vector<std::string> dims, off, on;
    uint32_t threads = 0, copy_batch = 1, budget = tile::PlannerOptions{}.fragment_budget;
    bool json = false;
};

Result<void> set_flag(tile::PlannerOptions& o, const std::string& name, bool value) {
    std::string names;
#define X(flag, initial, meaning) \
    if (name == #flag) {          \
        o.flag = value;           \
        return {};                \
    }                             \
    names += fmt::format("{}{}", names.empty() ? "" : ", ", #flag);
    INGOT_TILE_PLANNER_FLAGS(X)
#undef X
    return fail(ErrorKind::kInvalidArgument, "no option '{}' of the planner; there are {}", name, names);
}

Result<void> plan_tile(const TilePlanFlags& flags) {
    INGOT_ASSIGN(const tile::Kernel k, load_tile_kernel(flags.file));
    tile::CompileOptions options;
    options.target = flags.target;
    INGOT_ASSIGN(options.dims, parse_dims(flags.dims));
    for (const std::string& name : flags.off) INGOT_TRY(set_flag(options.planner, name, false));
    for (const std::string& name : flags.on) INGOT_TRY(set_flag(options.planner, name, true));
    if (flags.threads != 0) options.planner.exact_threads = flags.threads;
    options.planner.fragment_budget = flags.budget;
    options.planner.max_copy_batch = flags.copy_batch;
    if (!flags.tuned.empty()) {
        INGOT_ASSIGN(options.planner, tile::tuned_planner(flags.tuned, k, options));
    }
    if (!flags.costs.empty()) {
        INGOT_ASSIGN(const std::string text, read_text_file(flags.costs));
        INGOT_ASSIGN(options.planner.costs, tile::parse_costs(text, flags.costs));
    }
    INGOT_ASSIGN(const tile::CompiledKernel compiled, tile::compile(k, options));
    const tile::ReportTitle title{k.name, flags.target};
    if (!flags.svg.empty()) {
        const std::string picture = tile::to_svg(compiled.group_plan, title);
        INGOT_TRY(write_file(flags.svg, std::as_bytes(std::span(picture))));
    }
    fmt::print("{}{}", flags.json ? tile::to_json(compiled.group_plan, title) : compiled.explain(),
               flags.json ? "\n" : "");
    return {};
}

}  // namespace

Action add_tile_plan(CLI::App& app) {
    auto flags = std::make_shared<TilePlanFlags>();
    app.add_option("file", flags->file, "A .tile file, or the name of a kernel in `ingot tile list`")
        ->required();
    app.add_option("--target", flags->target, "metal-m1 to metal-m5, metal-m4-metal4")->capture_default_str();
    app.add_option("-D,--dim", flags->dims, "NAME=SIZE of a dim that is known now");
    app.add_option("--threads", flags->threads, "Threads of a group, instead of the program's");
    app.add_option("--fragment-budget", flags->budget, "Scalars of matrices that a lane may hold")
        ->capture_default_str();
    app.add_option("--copy-batch", flags->copy_batch,
                   "Values that a thread may read before it stores them to shared memory, up to 16")
        ->capture_default_str();
    app.add_option("--off", flags->off, "An option of the planner to switch off (docs/tile-planner.md)");
    app.add_option("--on", flags->on, "An option of the planner to switch on");
    app.add_option("--costs", flags->costs, "A file of costs, instead of the target's");
    auto* tuned =
        app.add_option("--tuned", flags->tuned, "Take the plan that `ingot tile tune` wrote to this file");
    for (const char* chosen : {"--threads", "--fragment-budget", "--copy-batch", "--off", "--on"})
        tuned->excludes(app.get_option(chosen));
    app.add_option("--svg", flags->svg, "Draw who computes what, and what it costs, to this file");
    app.add_flag("--json", flags->json, "Print the plan as JSON (docs/tile-plan.schema.json)");
    return [flags] { return plan_tile(*flags); };
}

}  // namespace ingot::cli
