// How keys and values are stored in a KV region: one table row per format. A region is [cells, kv_heads,
// head_dim], row-major, and every cell's row is stored in this format. Conversions live in the backends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::kv {

// X(enumerator, name as users write it, elements of a block, bytes of a block). q8_0 has the blocks of
// QuantType::kQ8_0: a half and 32 signed bytes.
#define INGOT_KV_FORMATS(X) \
    X(F32, "f32", 1, 4)     \
    X(F16, "f16", 1, 2)     \
    X(Q8_0, "q8_0", 32, 34)

enum class Format : uint8_t {
#define X(name, ...) k##name,
    INGOT_KV_FORMATS(X)
#undef X
};

struct FormatTraits {
    Format format;
    std::string_view name;
    uint32_t block_size;  // a cell's row is a whole number of blocks
    uint32_t block_size_bytes;
};

inline constexpr std::array kFormats = {
#define X(name, text, size, bytes) FormatTraits{Format::k##name, text, size, bytes},
    INGOT_KV_FORMATS(X)
#undef X
};

constexpr const FormatTraits& traits(Format format) {
    return kFormats[size_t(format)];
}

// Bytes of a cell's row of `width` elements, a multiple of the block size. Blocks of odd sizes are padded to
// whole words.
constexpr size_t row_bytes(Format format, uint32_t width) {
    const size_t bytes = size_t(width) / traits(format).block_size * traits(format).block_size_bytes;
    return traits(format).block_size == 1 ? bytes : (bytes + 3) / 4 * 4;
}

constexpr std::optional<Format> format_from_name(std::string_view name) {
    for (const FormatTraits& row : kFormats) {
        if (row.name == name) return row.format;
    }
    return std::nullopt;
}

}  // namespace ingot::kv
