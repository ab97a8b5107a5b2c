// What the tables of ggml's kernels share: argument structs filled by field name (their layout is read from
// the package's header, so that none is repeated here), and quantized rows whose values are decoded by
// Ingot's golden-tested conversions or by ggml_codebooks.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "metal_conformance/session.h"

namespace ingot::metal::conformance {

// Folder ggml-metal of the source package.
std::string ggml_folder();

// The bytes of struct ggml_metal_kargs_NAME; fields that aren't named are 0. An element of an array field is
// "nef1.0". A field that doesn't exist fails the test.
std::vector<std::byte> ggml_arguments(const std::string& name,
                                      const std::vector<std::pair<std::string, double>>& fields);

// Of the storage type that ggml's kernels name so: "q4_K", "iq2_xxs", "f16".
uint32_t ggml_block_size(const std::string& type);
uint32_t ggml_block_bytes(const std::string& type);

// Rows of one storage type, random, and what they decode to.
struct QuantRows {
    std::string type;
    size_t row_bytes;
    Array blocks;
    std::vector<double> values;

    QuantRows(const std::string& type, size_t rows, size_t columns, uint32_t seed);
    // What the blocks hold now, after a kernel wrote some.
    std::vector<double> decode() const;
};

}  // namespace ingot::metal::conformance
