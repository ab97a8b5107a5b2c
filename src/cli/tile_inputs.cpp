// Arguments of tile kernels on the command line: dims and scalars, tensors from .npy files or made up, and
// files for what comes out.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>

#include "cli/tile.h"
#include "tile/ir/interpret.h"

namespace ingot::cli {
namespace {

Result<std::pair<std::string, std::string>> split_flag(const std::string& flag, std::string_view example) {
    const size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0)
        return fail(ErrorKind::kInvalidArgument, "'{}': {} is meant", flag, example);
    return std::pair(flag.substr(0, equals), flag.substr(equals + 1));
}

template <typename T>
Result<std::map<std::string, T>> parse_numbers(const std::vector<std::string>& flags,
                                               std::string_view example) {
    std::map<std::string, T> out;
    for (const std::string& flag : flags) {
        INGOT_ASSIGN(const auto parts, split_flag(flag, example));
        T value{};
        const std::string& text = parts.second;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
        if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
            return fail(ErrorKind::kInvalidArgument, "'{}': '{}' is no number", flag, text);
        out[parts.first] = value;
    }
    return out;
}

std::string_view array_type(tile::DType type) {
    return tile::name(type);
}

// Dims that a shape tells: where the tensor's size is the dim itself.
Result<void> learn_dims(const tile::Kernel& k, tile::BufferId id, const Array& array,
                        std::map<std::string, int64_t>& dims) {
    const tile::Buffer& b = k[id];
    if (!b.strides.empty() || array.shape.size() != b.shape.size()) return {};
    for (size_t d = 0; d < b.shape.size(); ++d) {
        const tile::Expr& e = k[b.shape[d]];
        if (e.op != tile::ExprOp::kDim) continue;
        const std::string& name = k[tile::DimId(e.ref)].name;
        const auto [it, added] = dims.emplace(name, int64_t(array.shape[d]));
        if (!added && it->second != int64_t(array.shape[d]))
            return fail(ErrorKind::kInvalidArgument, "{}: dimension {} is {}, dim {} is {}", b.name, d,
                        array.shape[d], name, it->second);
    }
    return {};
}

Result<Array> made_up(std::string_view text, tile::DType type, std::vector<size_t> shape,
                      const std::string& flag) {
    std::vector<double> values(element_count(shape));
    if (text == "zeros") return to_array(values, type, std::move(shape));
    if (!text.starts_with("randn"))
        return fail(ErrorKind::kInvalidArgument,
                    "'{}': NAME=FILE.npy, NAME=zeros or NAME=randn[:SEED] is meant", flag);
    uint32_t seed = 0;
    if (text.size() > 6) std::from_chars(text.data() + 6, text.data() + text.size(), seed);
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    for (double& v : values) v = normal(generator);
    return to_array(values, type, std::move(shape));
}

Result<void> check_tensor_names(const tile::Kernel& k, const std::map<std::string, std::string>& given) {
    std::vector<std::string> names;
    for (const tile::BufferId id : k.tensors()) names.push_back(k[id].name);
    for (const auto& [name, value] : given) {
        if (std::ranges::find(names, name) == names.end())
            return fail(ErrorKind::kInvalidArgument, "{} has no tensor '{}'; there are {}", k.name, name,
                        fmt::join(names, ", "));
    }
    return {};
}

}  // namespace

Result<std::vector<size_t>> tile_shape_at_launch(const tile::Kernel& k, tile::BufferId id,
                                                 const std::map<std::string, int64_t>& dims) {
    std::vector<size_t> shape;
    if (!k[id].strides.empty() || k[id].offset.valid()) {
        INGOT_ASSIGN(shape.emplace_back(), tile::tensor_elements(k, id, dims));
        return shape;
    }
    for (const tile::ExprId e : k[id].shape) {
        INGOT_ASSIGN(const int64_t n, tile::evaluate_at_launch(k, e, dims));
        shape.push_back(size_t(std::max<int64_t>(n, 0)));
    }
    return shape;
}

Result<std::map<std::string, int64_t>> parse_dims(const std::vector<std::string>& flags) {
    return parse_numbers<int64_t>(flags, "n=4096");
}
Result<std::map<std::string, double>> parse_scalars(const std::vector<std::string>& flags) {
    return parse_numbers<double>(flags, "eps=1e-5");
}

void add_tile_input_flags(CLI::App& app, TileInputFlags& flags) {
    app.add_option("-D,--dim", flags.dims,
                   "NAME=SIZE of a dim; those that the shape of an input tells may be left out");
    app.add_option("--scalar", flags.scalars, "NAME=NUMBER");
    app.add_option("--in", flags.inputs, "NAME=FILE.npy, NAME=zeros or NAME=randn[:SEED]");
    app.add_option("--out", flags.outputs, "NAME=FILE.npy to write an output to");
}

Result<TileInputs> read_tile_inputs(const tile::Kernel& k, const TileInputFlags& flags) {
    TileInputs inputs;
    INGOT_ASSIGN(inputs.dims, parse_dims(flags.dims));
    INGOT_ASSIGN(inputs.scalars, parse_scalars(flags.scalars));
    std::map<std::string, std::string> given;
    for (const std::string& flag : flags.inputs) {
        INGOT_ASSIGN(const auto parts, split_flag(flag, "A=FILE.npy"));
        given.insert(parts);
    }
    INGOT_TRY(check_tensor_names(k, given));
    for (const tile::BufferId id : k.tensors()) {  // files first: they tell dims
        const auto it = given.find(k[id].name);
        if (it == given.end() || !it->second.ends_with(".npy")) continue;
        INGOT_ASSIGN(Array array, read_npy(it->second));
        if (array.type->size_bytes != tile::size_bytes(k[id].type))
            return fail(ErrorKind::kInvalidArgument, "{} holds {}, {} is {}", it->second, array.type->name,
                        k[id].name, tile::name(k[id].type));
        INGOT_TRY(learn_dims(k, id, array, inputs.dims));
        inputs.tensors[k[id].name] = std::move(array);
        given.erase(it);
    }
    for (const tile::BufferId id : k.tensors()) {
        const std::string& name = k[id].name;
        const auto it = given.find(name);
        if (it == given.end()) {
            if (k[id].role == tile::Role::kOut || inputs.tensors.contains(name)) continue;
            return fail(ErrorKind::kInvalidArgument, "nothing is given for {}; --in {}=FILE.npy", name, name);
        }
        INGOT_ASSIGN(auto shape, tile_shape_at_launch(k, id, inputs.dims));
        INGOT_ASSIGN(inputs.tensors[name],
                     made_up(it->second, k[id].type, std::move(shape), name + "=" + it->second));
    }
    return inputs;
}

Result<void> write_tile_outputs(const std::map<std::string, Array>& results, const TileInputFlags& flags) {
    for (const std::string& flag : flags.outputs) {
        INGOT_ASSIGN(const auto parts, split_flag(flag, "C=FILE.npy"));
        const auto it = results.find(parts.first);
        if (it == results.end())
            return fail(ErrorKind::kInvalidArgument, "'{}': no output of that name", flag);
        INGOT_TRY(write_npy(parts.second, it->second));
    }
    return {};
}

std::vector<double> to_doubles(const Array& array, tile::DType type) {
    const size_t size = tile::size_bytes(type);
    std::vector<double> out(array.data.size() / size);
    for (size_t i = 0; i < out.size(); ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, array.data.data() + i * size, size);
        out[i] = tile::from_bits(type, bits);
    }
    return out;
}

Array to_array(const std::vector<double>& values, tile::DType type, std::vector<size_t> shape) {
    Array out;
    out.type = *element_type(array_type(type));
    out.shape = std::move(shape);
    const size_t size = tile::size_bytes(type);
    out.data.resize(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i) {
        const uint32_t bits = tile::to_bits(type, values[i]);
        std::memcpy(out.data.data() + i * size, &bits, size);
    }
    return out;
}

}  // namespace ingot::cli
