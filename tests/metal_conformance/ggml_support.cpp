#include "metal_conformance/ggml_support.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "llm/quant/quant.h"
#include "metal_conformance/corpora.h"
#include "metal_conformance/ggml_codebooks.h"

namespace ingot::metal::conformance {
namespace {

struct Field {
    std::string type;
    size_t size = 0, offset = 0, count = 1;
};
struct Layout {
    std::map<std::string, Field> fields;
    size_t size = 0;
};

size_t size_of(const std::string& type) {
    static const std::map<std::string, size_t> sizes = {
        {"int8_t", 1},   {"uint8_t", 1}, {"bool", 1},  {"int16_t", 2}, {"uint16_t", 2}, {"int32_t", 4},
        {"uint32_t", 4}, {"int", 4},     {"float", 4}, {"int64_t", 8}, {"uint64_t", 8}, {"size_t", 8}};
    const auto found = sizes.find(type);
    return found == sizes.end() ? 0 : found->second;
}

std::string header_text() {
    std::ifstream file(ggml_folder() + "/ggml-metal-impl.h");
    std::string text, line;
    while (std::getline(file, line)) text += line.substr(0, line.find("//")) + "\n";
    return text;
}

// "TYPE NAME;" and "TYPE NAME[N];", laid out as C does.
Layout read_layout(const std::string& body) {
    Layout layout;
    size_t alignment = 1;
    std::istringstream declarations(body);
    for (std::string declaration; std::getline(declarations, declaration, ';');) {
        std::replace_if(
            declaration.begin(), declaration.end(), [](char c) { return c == '[' || c == ']'; }, ' ');
        std::istringstream words(declaration);
        Field field;
        std::string name;
        if (!(words >> field.type >> name)) continue;
        words >> field.count;
        if (field.count == 0) field.count = 1;
        field.size = size_of(field.type);
        if (field.size == 0) return {};
        field.offset = (layout.size + field.size - 1) / field.size * field.size;
        layout.size = field.offset + field.size * field.count;
        alignment = std::max(alignment, field.size);
        layout.fields[name] = field;
    }
    layout.size = (layout.size + alignment - 1) / alignment * alignment;
    return layout;
}

const Layout& layout_of(const std::string& name) {
    static const std::string text = header_text();
    static std::map<std::string, Layout> known;
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    const size_t end = text.find("} ggml_metal_kargs_" + name + ";");
    const size_t begin = end == std::string::npos ? end : text.rfind('{', end);
    return known[name] =
               begin == std::string::npos ? Layout{} : read_layout(text.substr(begin + 1, end - begin - 1));
}

template <typename T>
void write_as(std::byte* at, double value) {
    const T converted = T(value);
    std::memcpy(at, &converted, sizeof(T));
}

void write_field(std::byte* at, const Field& field, double value) {
    if (field.type == "float") return write_as<float>(at, value);
    if (field.size == 1) return write_as<int8_t>(at, value);
    if (field.size == 2) return write_as<int16_t>(at, value);
    if (field.size == 4) return write_as<int32_t>(at, value);
    write_as<int64_t>(at, value);
}

const QuantTraits& quant_traits(const std::string& type) {
    const auto found = quant_type_from_name(type);
    EXPECT_TRUE(found.has_value()) << "no storage type " << type;
    return traits(found.value_or(QuantType::kF32));
}

}  // namespace

std::string ggml_folder() {
    return cache_folder() + "conformance/llama_cpp_python-0.3.36/vendor/llama.cpp/ggml/src/ggml-metal";
}

std::vector<std::byte> ggml_arguments(const std::string& name,
                                      const std::vector<std::pair<std::string, double>>& fields) {
    const Layout& layout = layout_of(name);
    EXPECT_NE(0u, layout.size) << "no struct ggml_metal_kargs_" << name << " of plain fields";
    std::vector<std::byte> bytes(layout.size);
    for (const auto& [field_name, value] : fields) {
        const size_t dot = field_name.find('.');
        const auto found = layout.fields.find(field_name.substr(0, dot));
        const size_t index = dot == std::string::npos ? 0 : std::stoul(field_name.substr(dot + 1));
        if (found == layout.fields.end() || index >= found->second.count) {
            ADD_FAILURE() << "ggml_metal_kargs_" << name << " has no field " << field_name;
            continue;
        }
        write_field(bytes.data() + found->second.offset + index * found->second.size, found->second, value);
    }
    return bytes;
}

uint32_t ggml_block_size(const std::string& type) {
    const Codebook* book = find_codebook(type);
    return book ? book->block_size : quant_traits(type).block_size;
}

uint32_t ggml_block_bytes(const std::string& type) {
    const Codebook* book = find_codebook(type);
    return book ? book->block_size_bytes : quant_traits(type).block_size_bytes;
}

QuantRows::QuantRows(const std::string& type_, size_t rows, size_t columns, uint32_t seed)
    : type(type_),
      row_bytes(columns / ggml_block_size(type) * ggml_block_bytes(type)),
      values(rows * columns) {
    if (const Codebook* book = find_codebook(type)) {
        blocks = random_bytes(rows * row_bytes, seed);
        for (size_t at = 0; at < blocks.size(); at += book->block_size_bytes)
            make_scale_small(*book, blocks.as<uint8_t>() + at);
    } else {
        const Array source = random_array(Type::kF32, rows * columns, seed, 0.5);
        blocks = Array(Type::kU8, rows * row_bytes);
        quant_traits(type).quantize(source.as<float>(), blocks.data(), rows * columns);
    }
    values = decode();
}

std::vector<double> QuantRows::decode() const {
    std::vector<double> decoded(values.size());
    if (const Codebook* book = find_codebook(type)) {
        for (size_t i = 0; i < decoded.size() / book->block_size; ++i)
            book->decode(blocks.as<uint8_t>() + i * book->block_size_bytes, &decoded[i * book->block_size]);
        return decoded;
    }
    std::vector<float> floats(values.size());
    quant_traits(type).dequantize(blocks.as<std::byte>(), floats.data(), floats.size());
    std::copy(floats.begin(), floats.end(), decoded.begin());
    return decoded;
}

}  // namespace ingot::metal::conformance
