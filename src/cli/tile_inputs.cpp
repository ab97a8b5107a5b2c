// Arguments of tile kernels on the command line: dims and scalars, tensors from .npy files or made up, and
// files for what comes out.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <random>

#include "cli/tile.h"
#include "tile/ir/interpret.h"
#include "tile/ir/print.h"

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
        if (!out.emplace(parts.first, value).second)
            return fail(ErrorKind::kInvalidArgument, "'{}': {} is given twice", flag, parts.first);
    }
    return out;
}

constexpr size_t kMaxTensorBytes = size_t{4} << 30;

// Where a tensor's elements come from: --in NAME=...
struct Source {
    std::string file;              // none: made up
    std::optional<uint32_t> seed;  // of randn; without it zeros
};

Result<Source> parse_source(const std::string& flag, std::string_view text) {
    Source source;
    if (text == "zeros") return source;
    if (text.ends_with(".npy")) {
        source.file = text;
        return source;
    }
    uint32_t seed = 0;
    const size_t begin = std::min<size_t>(6, text.size());
    const auto parsed = std::from_chars(text.data() + begin, text.data() + text.size(), seed);
    const bool is_seed =
        text.starts_with("randn:") && parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
    if (text != "randn" && !is_seed)
        return fail(ErrorKind::kInvalidArgument,
                    "'{}': NAME=FILE.npy, NAME=zeros or NAME=randn[:SEED] is meant", flag);
    source.seed = seed;
    return source;
}

// The type of a tensor's elements in a file: NumPy has no bf16, so its bits are stored.
std::string_view file_type(tile::DType type) {
    return tile::name(type == tile::DType::kBF16 ? tile::DType::kU16 : type);
}

// Its memory is one run of elements, whatever an array's shape says.
bool is_flat(const tile::Buffer& b) {
    return !b.strides.empty() || b.offset.valid();
}

Failure wrong_shape(const tile::Kernel& k, tile::BufferId id, const std::string& file, const Array& array) {
    std::vector<std::string> sizes;
    for (const tile::ExprId e : k[id].shape) sizes.push_back(tile::print(k, e));
    return fail(ErrorKind::kInvalidArgument, "{} is [{}], {} has shape [{}]", k[id].name,
                fmt::join(sizes, ", "), file, fmt::join(array.shape, ", "));
}

// Dims that a shape tells: where the tensor's size is the dim itself.
Result<void> learn_dims(const tile::Kernel& k, tile::BufferId id, const std::string& file, const Array& array,
                        std::map<std::string, int64_t>& dims) {
    const tile::Buffer& b = k[id];
    if (is_flat(b)) return {};
    if (array.shape.size() != b.shape.size()) return wrong_shape(k, id, file, array);
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

Array made_up(const Source& source, tile::DType type, std::vector<size_t> shape) {
    if (!source.seed) return zeros(type, std::move(shape));
    std::vector<double> values(element_count(shape));
    std::mt19937 generator(*source.seed);
    std::normal_distribution<double> normal;
    for (double& v : values) v = normal(generator);
    return to_array(values, type, std::move(shape));
}

// What flags name is there.
template <typename Given>
Result<void> check_names(const tile::Kernel& k, std::string_view what, const std::vector<std::string>& names,
                         const Given& given) {
    for (const auto& [name, value] : given) {
        if (std::ranges::find(names, name) == names.end())
            return fail(ErrorKind::kInvalidArgument, "{} has no {} '{}'; there are {}", k.name, what, name,
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    return {};
}
template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
    std::vector<std::string> names;
    for (const Named& x : all) names.push_back(x.name);
    return names;
}

Result<std::map<std::string, Source>> parse_sources(const tile::Kernel& k,
                                                    const std::vector<std::string>& flags) {
    std::map<std::string, Source> sources;
    for (const std::string& flag : flags) {
        INGOT_ASSIGN(const auto parts, split_flag(flag, "A=FILE.npy"));
        INGOT_ASSIGN(Source source, parse_source(flag, parts.second));
        if (!sources.emplace(parts.first, std::move(source)).second)
            return fail(ErrorKind::kInvalidArgument, "'{}': {} is given twice", flag, parts.first);
    }
    std::vector<std::string> names;
    for (const tile::BufferId id : k.tensors()) names.push_back(k[id].name);
    INGOT_TRY(check_names(k, "tensor", names, sources));
    return sources;
}

Result<void> check_outputs(const tile::Kernel& k, const std::vector<std::string>& flags) {
    std::map<std::string, std::string> given;
    for (const std::string& flag : flags) {
        INGOT_ASSIGN(const auto parts, split_flag(flag, "C=FILE.npy"));
        given.insert(parts);
    }
    std::vector<std::string> names;
    for (const tile::BufferId id : k.tensors())
        if (k[id].role != tile::Role::kIn) names.push_back(k[id].name);
    return check_names(k, "output", names, given);
}

// An input's file, which may tell dims.
Result<Array> read_tensor(const tile::Kernel& k, tile::BufferId id, const std::string& file,
                          std::map<std::string, int64_t>& dims) {
    INGOT_ASSIGN(Array array, read_npy(file));
    if (array.type->name != file_type(k[id].type))
        return fail(ErrorKind::kInvalidArgument, "{} holds {}, {} is {}; a file of {} is accepted", file,
                    array.type->name, k[id].name, tile::name(k[id].type), file_type(k[id].type));
    INGOT_TRY(learn_dims(k, id, file, array, dims));
    return array;
}

// What the file has is what the tensor takes, now that all dims are known.
Result<void> check_shape(const tile::Kernel& k, tile::BufferId id, const std::string& file,
                         const Array& array, const std::vector<size_t>& shape) {
    if (!is_flat(k[id])) return array.shape == shape ? Result<void>{} : wrong_shape(k, id, file, array);
    if (array.count() == shape[0]) return {};
    return fail(ErrorKind::kInvalidArgument, "{} takes {} elements, {} has {}", k[id].name, shape[0], file,
                array.count());
}

}  // namespace

Result<std::vector<size_t>> tile_shape_at_launch(const tile::Kernel& k, tile::BufferId id,
                                                 const std::map<std::string, int64_t>& dims) {
    std::vector<size_t> shape;
    INGOT_ASSIGN(const size_t elements, tile::tensor_elements(k, id, dims));
    if (elements > kMaxTensorBytes / tile::size_bytes(k[id].type))
        return fail(ErrorKind::kLimit, "{} takes {} elements of {}; at most {} bytes are accepted",
                    k[id].name, elements, tile::name(k[id].type), kMaxTensorBytes);
    if (is_flat(k[id])) return std::vector<size_t>{elements};
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
    app.add_option("-D,--dim", flags.dims, "A dim; those that the shape of an input tells may be left out")
        ->option_text("NAME=SIZE ...");
    app.add_option("--scalar", flags.scalars, "A scalar")->option_text("NAME=NUMBER ...");
    app.add_option("--in", flags.inputs, "An input: a file, zeros, or randn[:SEED]")
        ->option_text("NAME=FILE.npy ...");
    app.add_option("--out", flags.outputs, "Write an output to a file")->option_text("NAME=FILE.npy ...");
}

Result<TileInputs> read_tile_inputs(const tile::Kernel& k, const TileInputFlags& flags) {
    TileInputs inputs;
    INGOT_ASSIGN(inputs.dims, parse_dims(flags.dims));
    INGOT_ASSIGN(inputs.scalars, parse_scalars(flags.scalars));
    INGOT_TRY(check_names(k, "dim", names_of(k.dims), inputs.dims));
    INGOT_TRY(check_names(k, "scalar", names_of(k.scalars), inputs.scalars));
    INGOT_ASSIGN(const auto sources, parse_sources(k, flags.inputs));
    INGOT_TRY(check_outputs(k, flags.outputs));
    for (const tile::BufferId id : k.tensors()) {  // files first: they tell dims
        const auto it = sources.find(k[id].name);
        if (it == sources.end() || it->second.file.empty()) continue;
        INGOT_ASSIGN(inputs.tensors[k[id].name], read_tensor(k, id, it->second.file, inputs.dims));
    }
    for (const tile::Dim& d : k.dims) {
        const auto it = inputs.dims.find(d.name);
        if (it != inputs.dims.end()) INGOT_TRY(tile::check_dim(d, it->second));
    }
    for (const tile::BufferId id : k.tensors()) {
        const std::string& name = k[id].name;
        const auto it = sources.find(name);
        if (it == sources.end()) {
            if (k[id].role == tile::Role::kOut) continue;
            return fail(ErrorKind::kInvalidArgument, "nothing is given for {}; --in {}=FILE.npy", name, name);
        }
        INGOT_ASSIGN(auto shape, tile_shape_at_launch(k, id, inputs.dims));
        if (it->second.file.empty()) {
            inputs.tensors[name] = made_up(it->second, k[id].type, std::move(shape));
        } else {
            INGOT_TRY(check_shape(k, id, it->second.file, inputs.tensors[name], shape));
        }
    }
    return inputs;
}

Result<void> write_tile_outputs(const std::map<std::string, Array>& results, const TileInputFlags& flags) {
    for (const std::string& flag : flags.outputs) {
        INGOT_ASSIGN(const auto parts, split_flag(flag, "C=FILE.npy"));
        INGOT_TRY(write_npy(parts.second, results.at(parts.first)));
    }
    return {};
}

Array zeros(tile::DType type, std::vector<size_t> shape) {
    Array out;
    out.type = *element_type(tile::name(type));
    out.data.resize(element_count(shape) * tile::size_bytes(type));
    out.shape = std::move(shape);
    return out;
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
    Array out = zeros(type, std::move(shape));
    const size_t size = tile::size_bytes(type);
    for (size_t i = 0; i < values.size(); ++i) {
        const uint32_t bits = tile::to_bits(type, values[i]);
        std::memcpy(out.data.data() + i * size, &bits, size);
    }
    return out;
}

}  // namespace ingot::cli
