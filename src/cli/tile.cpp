// `ingot tile`: kernels in the tile language.
#include "cli/tile.h"

#include "base/mapped_file.h"
#include "cli/parts.h"
#include "tile/ir/interpret.h"
#include "tile/ir/parse.h"
#include "tile/ir/verify.h"
#include "tile/library/library.h"

namespace ingot::cli {
namespace {

constexpr Part kTileCommands[] = {
    {"compile", "Turn a .tile file into Metal source and say how to launch it", add_tile_compile},
    {"list", "List the kernels that are part of the program", add_tile_list},
    {"plan", "Say how a .tile file's products are done, what else was possible, and why not", add_tile_plan},
    {"ref", "Compute what a .tile file means, in double precision", add_tile_ref},
    {"run", "Run a .tile file on the virtual Metal device", add_tile_run},
    {"tune", "Try plans of a .tile file on a device, and keep the best for later compiles", add_tile_tune},
};

}  // namespace

Result<tile::Kernel> load_tile_kernel(const std::string& file_or_name) {
    std::string text, file = file_or_name;
    if (file.find_first_of("./") == std::string::npos) {
        INGOT_ASSIGN(const tile::LibraryKernel* found, tile::library_kernel(file));
        text = found->text;
        file += ".tile";
    } else {
        INGOT_ASSIGN(text, read_text_file(file));
    }
    INGOT_ASSIGN(tile::Kernel k, tile::parse(text, file));
    INGOT_TRY(tile::verify(k));
    return k;
}

namespace {

Result<void> run_reference(const std::string& file, const TileInputFlags& flags) {
    INGOT_ASSIGN(const tile::Kernel k, load_tile_kernel(file));
    INGOT_ASSIGN(const TileInputs inputs, read_tile_inputs(k, flags));
    tile::Arguments arguments{inputs.dims, inputs.scalars, {}};
    for (const tile::BufferId id : k.tensors()) {
        const auto it = inputs.tensors.find(k[id].name);
        if (it != inputs.tensors.end()) arguments.tensors[k[id].name] = to_doubles(it->second, k[id].type);
    }
    std::vector<std::string> log;
    INGOT_ASSIGN(const auto results, tile::interpret(k, arguments, &log));
    for (const std::string& text : log) fmt::print("{}\n", text);
    std::map<std::string, Array> arrays;
    for (const tile::BufferId id : k.tensors()) {
        const auto it = results.find(k[id].name);
        if (it == results.end()) continue;
        INGOT_ASSIGN(auto shape, tile_shape_at_launch(k, id, inputs.dims));
        double sum = 0;
        for (const double v : it->second) sum += v;
        fmt::print("{}: {} elements, sum {}\n", it->first, it->second.size(), sum);
        arrays[it->first] = to_array(it->second, k[id].type, std::move(shape));
    }
    return write_tile_outputs(arrays, flags);
}

}  // namespace

Action add_tile_list(CLI::App&) {
    return []() -> Result<void> {
        for (const tile::LibraryKernel& k : tile::library()) fmt::print("{:16} {}\n", k.name, k.summary());
        return {};
    };
}

Action add_tile_ref(CLI::App& app) {
    struct Flags {
        std::string file;
        TileInputFlags inputs;
    };
    auto flags = std::make_shared<Flags>();
    app.add_option("FILE", flags->file, "A .tile file, or the name of a kernel in `ingot tile list`")
        ->required();
    add_tile_input_flags(app, flags->inputs);
    return [flags] { return run_reference(flags->file, flags->inputs); };
}

Action add_tile(CLI::App& app) {
    return add_parts(app, kTileCommands);
}

}  // namespace ingot::cli
