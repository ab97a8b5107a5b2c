// Arrays in NumPy's .npy files (format 1.0 to 3.0, C order), and arrays described in text ("f32[64,64]"). A
// file is hostile input: header and data are checked against each other before anything is allocated.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::cli {

struct ElementType {
    std::string_view name;   // "f32"; bf16 is stored as u16 in files
    std::string_view descr;  // NumPy's
    size_t size_bytes;
};

// Error kInvalidArgument names all there are.
Result<const ElementType*> element_type(std::string_view name);

size_t element_count(std::span<const size_t> shape);

struct Array {
    const ElementType* type = nullptr;
    std::vector<size_t> shape;
    std::vector<std::byte> data;

    size_t count() const { return element_count(shape); }
};

// "f16[64,64]": an array of zeros.
Result<Array> parse_array_type(std::string_view text);

Result<Array> parse_npy(std::string_view bytes);
Result<Array> read_npy(const std::string& path);
std::string npy_bytes(const Array& array);
Result<void> write_npy(const std::string& path, const Array& array);

}  // namespace ingot::cli
