// ggml's storage types that Ingot reads no models of: blocks that look up groups of values in tables
// ("grids"), and ones of 1 and 2 bits. Decoded value by value from the formats' definitions; the tables are
// read from the package's header.
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::metal::conformance {

struct Codebook {
    std::string_view name;  // in kernels' names, "iq2_xxs"
    uint32_t block_size, block_size_bytes;
    int scale_at;  // where the block's half scale lies; -1 if it is spread over the block
    void (*decode)(const uint8_t* block, double* values);
};

const Codebook* find_codebook(std::string_view name);
// Gives a block of random bytes a scale between 2^-7 and 2^-3.
void make_scale_small(const Codebook& book, uint8_t* block);

}  // namespace ingot::metal::conformance
