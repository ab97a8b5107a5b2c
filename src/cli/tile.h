// The parts of `ingot tile`, one file each.
#pragma once

#include <map>

#include "cli/command.h"
#include "cli/npy.h"
#include "tile/ir/ir.h"
#include "tile/passes/plan.h"

namespace ingot::cli {

Action add_tile_compile(CLI::App& app);
Action add_tile_ref(CLI::App& app);
Action add_tile_list(CLI::App& app);
Action add_tile_plan(CLI::App& app);
Action add_tile_run(CLI::App& app);
Action add_tile_tune(CLI::App& app);

// Reads a .tile file, or takes a kernel of the library by its name (`ingot tile list`), and verifies it.
Result<tile::Kernel> load_tile_kernel(const std::string& file_or_name);

// Repeated flags "n=4096".
Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& flags);
Result<std::map<std::string, double>> parse_scalars(const std::vector<std::string>& flags);

// A path's name, or none for an empty text.
Result<std::optional<tile::Path>> parse_tile_path(const std::string& text);

// Inputs as arrays by tensor name, from flags "A=FILE.npy" or "A=randn[:SEED]" or "A=zeros"; dims that shapes
// tell are added to `dims`.
struct TileInputs {
    std::map<std::string, int64_t> dims;
    std::map<std::string, double> scalars;
    std::map<std::string, Array> tensors;
};
struct TileInputFlags {
    std::vector<std::string> dims, scalars, inputs, outputs;
};
void add_tile_input_flags(CLI::App& app, TileInputFlags& flags);
Result<TileInputs> read_tile_inputs(const tile::Kernel& k, const TileInputFlags& flags);
// Writes the outputs that flags name ("C=FILE.npy"); read_tile_inputs has checked the names.
Result<void> write_tile_outputs(const std::map<std::string, Array>& results, const TileInputFlags& flags);

// What a tensor's array looks like: its sizes, or the elements of its memory where it has strides or an
// offset. Error kLimit: more than 4 GiB.
Result<std::vector<size_t>> tile_shape_at_launch(const tile::Kernel& k, tile::BufferId id,
                                                 const std::map<std::string, int64_t>& dims);

Array zeros(tile::DType type, std::vector<size_t> shape);
// Numbers of an array as doubles, and back as elements of `type`.
std::vector<double> to_doubles(const Array& array, tile::DType type);
Array to_array(const std::vector<double>& values, tile::DType type, std::vector<size_t> shape);

}  // namespace ingot::cli
