// The storage types of weights: one table row each, with reference conversions. Fast paths live in the
// backends and are tested against these. Layouts are GGUF's; type ids are those of the GGUF specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace ingot {

enum class QuantType : uint32_t {
    kF32 = 0,
    kF16 = 1,
    kQ4_0 = 2,
    kQ4_1 = 3,
    kQ5_0 = 6,
    kQ5_1 = 7,
    kQ8_0 = 8,
    kQ2_K = 10,
    kQ3_K = 11,
    kQ4_K = 12,
    kQ5_K = 13,
    kQ6_K = 14,
    kIQ4_NL = 20,
    kBF16 = 30,
    kMXFP4 = 39,
};

struct QuantTraits {
    QuantType type;         // its value is the GGUF id
    std::string_view name;  // "Q4_K", as users write it
    uint32_t block_size;    // elements per block; rows are a whole number of blocks
    uint32_t block_size_bytes;
    // `count` elements, a multiple of block_size; `count / block_size * block_size_bytes` bytes at `blocks`.
    // Blocks need no alignment.
    void (*dequantize)(const std::byte* blocks, float* values, size_t count);
    void (*quantize)(const float* values, std::byte* blocks, size_t count);
};

std::span<const QuantTraits> all_quant_types();
const QuantTraits& traits(QuantType type);
std::optional<QuantType> quant_type_from_gguf_id(uint32_t id);
// Case does not matter.
std::optional<QuantType> quant_type_from_name(std::string_view name);

// Bytes of `count` elements; nullopt if count is not a multiple of the block size or the product overflows.
std::optional<uint64_t> storage_size_bytes(QuantType type, uint64_t count);

}  // namespace ingot
