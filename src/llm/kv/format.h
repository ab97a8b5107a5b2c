// How keys and values are stored in a KV region: one table row per format. A region is [cells, kv_heads,
// head_dim], row-major, and every row is stored in this format. Conversions live in the backends.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::kv {

// X(enumerator, name as users write it, bytes per element)
#define INGOT_KV_FORMATS(X) \
    X(F32, "f32", 4)        \
    X(F16, "f16", 2)

enum class Format : uint8_t {
#define X(name, text, size) k##name,
    INGOT_KV_FORMATS(X)
#undef X
};

struct FormatTraits {
    Format format;
    std::string_view name;
    uint32_t element_size_bytes;
};

inline constexpr std::array kFormats = {
#define X(name, text, size) FormatTraits{Format::k##name, text, size},
    INGOT_KV_FORMATS(X)
#undef X
};

constexpr const FormatTraits& traits(Format format) {
    return kFormats[size_t(format)];
}

constexpr std::optional<Format> format_from_name(std::string_view name) {
    for (const FormatTraits& row : kFormats) {
        if (row.name == name) return row.format;
    }
    return std::nullopt;
}

}  // namespace ingot::kv
