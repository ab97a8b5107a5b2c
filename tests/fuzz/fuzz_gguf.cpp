// Any bytes as a GGUF file: refused with a message, or read so that everything it says can be used.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "llm/gguf/gguf.h"

using ingot::gguf::File;

namespace {

volatile uint64_t g_sink;  // what is read must not be optimised away

void use(const File& file) {
    uint64_t sum = 0;
    for (const auto& entry : file.metadata()) {
        if (file.find(entry.key) != &entry.value) std::abort();
        for (const char c : entry.key) sum += uint8_t(c);
        sum += file.get_uint(entry.key).value_or(1) + file.get_bool(entry.key).value_or(false);
        sum += uint64_t(file.get_float(entry.key).has_value());
        for (const char c : file.get_string(entry.key).value_or("")) sum += uint8_t(c);
        if (const auto array = file.get_array(entry.key)) sum += (*array)->size();
    }
    for (const auto& tensor : file.tensors()) {
        if (file.find_tensor(tensor.name) != &tensor) std::abort();
        for (const std::byte byte : tensor.data) sum += uint8_t(byte);
        const ingot::QuantTraits& type = ingot::traits(tensor.type);
        if (tensor.row_length() * tensor.num_rows() != tensor.num_elements()) std::abort();
        std::vector<float> values(type.block_size);
        type.dequantize(tensor.data.data() + tensor.data.size() - type.block_size_bytes, values.data(),
                        values.size());
        type.quantize(values.data(), std::vector<std::byte>(type.block_size_bytes).data(), values.size());
    }
    g_sink = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto file = File::parse(std::as_bytes(std::span(data, size)), "fuzz");
    if (file) {
        use(*file);
    } else if (file.error().describe().find("fuzz: ") != 0) {
        std::abort();  // each message names the file
    }
    return 0;
}
