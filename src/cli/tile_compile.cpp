// `ingot tile compile`: Metal source from a .tile file, and the launch descriptor as JSON.
#include <chrono>

#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "cli/tile.h"
#include "tile/api/counts.h"
#include "tile/ir/print.h"
#include "tile/passes/pipeline.h"
#include "tile/tuner/database.h"

namespace ingot::cli {
namespace {

struct TileCompileFlags {
    std::string file, target = "metal-m4", path, output, print_after, tuned;
    std::vector<std::string> dims;
    bool explain = false, json = false, no_planner = false;
};

Result<void> check_pass(const std::string& name) {
    std::string names = "all";
    if (name.empty() || name == "all") return {};
    for (const tile::NamedPass& p : tile::pass_list()) {
        if (p.name == name) return {};
        names += fmt::format(", {}", p.name);
    }
    return fail(ErrorKind::kInvalidArgument, "no pass '{}'; there are {}", name, names);
}

nlohmann::ordered_json descriptor(const tile::CompiledKernel& c) {
    nlohmann::ordered_json json{{"entry", c.entry},
                                {"target", c.target},
                                {"language", tile::to_string(c.language)},
                                {"threads", {c.threads, 1, 1}},
                                {"threadgroup_bytes", c.threadgroup_bytes}};
    for (const tile::ExprId e : c.kernel.grid_extents) json["grid"].push_back(tile::print(c.kernel, e));
    if (c.kernel.swizzle.order != tile::SwizzleOrder::kNone)
        json["swizzle"] = {{"order", tile::kSwizzleNames[size_t(c.kernel.swizzle.order)]},
                           {"panel", c.kernel.swizzle.panel}};
    for (const tile::TensorArgument& t : c.tensors)
        json["buffers"].push_back({{"index", t.index},
                                   {"name", t.name},
                                   {"type", tile::name(t.type)},
                                   {"role", tile::kRoleNames[size_t(t.role)]},
                                   {"alignment", t.alignment_bytes}});
    if (c.fields_index) {
        json["arguments"] = {{"index", *c.fields_index}, {"bytes", c.fields_bytes}};
        for (const tile::PackedField& f : c.fields)
            json["arguments"]["fields"].push_back(
                {{"name", f.name}, {"type", tile::name(f.type)}, {"offset", f.offset_bytes}});
    }
    if (!c.specialised.empty()) json["specialised"] = c.specialised;
    // Of the first group, where all dims are known.
    if (const auto counts = tile::count(c, {})) {
#define X(name, meaning) json["counts_of_a_group"][#name] = counts->name;
        INGOT_TILE_COUNTS(X)
#undef X
    }
    return json;
}

Result<void> compile_tile(const TileCompileFlags& flags) {
    INGOT_ASSIGN(const tile::Kernel k, load_tile_kernel(flags.file));
    INGOT_TRY(check_pass(flags.print_after));
    tile::CompileOptions options;
    options.target = flags.target;
    INGOT_ASSIGN(options.dims, parse_dims(flags.dims));
    INGOT_ASSIGN(options.path, parse_tile_path(flags.path));
    options.planner.enabled = !flags.no_planner;
    if (!flags.tuned.empty()) {
        INGOT_ASSIGN(options.planner, tile::tuned_planner(flags.tuned, k, options));
    }
    options.after_pass = [&](std::string_view pass, const tile::Kernel& now) {
        if (flags.print_after == "all" || flags.print_after == pass)
            fmt::print(stderr, "// after {}\n{}\n", pass, tile::print(now));
    };
    const auto start = std::chrono::steady_clock::now();
    INGOT_ASSIGN(const tile::CompiledKernel compiled, tile::compile(k, options));
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    if (flags.explain) fmt::print(stderr, "{}", compiled.explain());
    if (flags.json) {
        auto json = descriptor(compiled);
        json["compile_ms"] = elapsed.count();
        if (flags.output.empty()) json["source"] = compiled.source;
        fmt::print("{}\n", json.dump(2));
    } else if (flags.output.empty()) {
        fmt::print("{}", compiled.source);
    }
    if (flags.output.empty()) return {};
    return write_file(flags.output, std::as_bytes(std::span(compiled.source)));
}

}  // namespace

Result<std::optional<tile::Path>> parse_tile_path(const std::string& text) {
    if (text.empty()) return std::optional<tile::Path>();
    std::string names;
    for (size_t i = 0; i < std::size(tile::kPathNames); ++i) {
        if (tile::kPathNames[i] == text) return std::optional(tile::Path(i));
        names += fmt::format("{}{}", i == 0 ? "" : ", ", tile::kPathNames[i]);
    }
    return fail(ErrorKind::kInvalidArgument, "no path '{}'; there are {}", text, names);
}

Action add_tile_compile(CLI::App& app) {
    auto flags = std::make_shared<TileCompileFlags>();
    app.add_option("FILE", flags->file, "A .tile file, or the name of a kernel in `ingot tile list`")
        ->required();
    app.add_option("--target", flags->target, "metal-m1 to metal-m5, metal-m4-metal4")
        ->option_text(fmt::format("TARGET [{}]", flags->target));
    app.add_option("--path", flags->path,
                   "Refuse every other path for products: direct, shared, simdgroup or scalar")
        ->option_text("PATH");
    app.add_option("-D,--dim", flags->dims, "A dim that is known now")->option_text("NAME=SIZE ...");
    app.add_option("-o,--output", flags->output, "Write the source to this file")->option_text("FILE");
    app.add_option("--print-after", flags->print_after, "Print the program after this pass, or after all")
        ->option_text("PASS");
    auto* reference = app.add_flag("--no-planner", flags->no_planner,
                                   "Divide products the reference way (docs/tile-planner.md)");
    app.add_option("--tuned", flags->tuned, "Take the plan that `ingot tile tune` wrote to this file")
        ->option_text("DB")
        ->excludes(reference);
    app.add_flag("--explain", flags->explain, "Say what was decided, and why");
    app.add_flag("--json", flags->json, "Print the launch descriptor");
    return [flags] { return compile_tile(*flags); };
}

}  // namespace ingot::cli
