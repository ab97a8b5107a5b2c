// The value types of GGUF metadata: one table from which parser, names and writer derive. Ids are those of
// the GGUF specification. An array (id 9) is not in the table: it holds items of one of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "llm/gguf/gguf.h"

// X(id, C++ type, name)
#define INGOT_GGUF_VALUE_TYPES(X)    \
    X(0, uint8_t, "uint8")           \
    X(1, int8_t, "int8")             \
    X(2, uint16_t, "uint16")         \
    X(3, int16_t, "int16")           \
    X(4, uint32_t, "uint32")         \
    X(5, int32_t, "int32")           \
    X(6, float, "float32")           \
    X(7, bool, "bool")               \
    X(8, std::string_view, "string") \
    X(10, uint64_t, "uint64")        \
    X(11, int64_t, "int64")          \
    X(12, double, "float64")

namespace ingot::gguf {

inline constexpr uint32_t kArrayTypeId = 9;

template <typename T>
inline constexpr uint32_t kTypeId = UINT32_MAX;
template <typename T>
inline constexpr std::string_view kTypeName = {};
#define INGOT_DEFINE_TYPE(id, type, name)         \
    template <>                                   \
    inline constexpr uint32_t kTypeId<type> = id; \
    template <>                                   \
    inline constexpr std::string_view kTypeName<type> = name;
INGOT_GGUF_VALUE_TYPES(INGOT_DEFINE_TYPE)
#undef INGOT_DEFINE_TYPE

// "uint32", "array of string".
std::string type_name(const Value& value);

// The number, if the value is of an integer type and not negative; nullopt otherwise.
std::optional<uint64_t> as_uint(const Value& value);
std::optional<double> as_float(const Value& value);

}  // namespace ingot::gguf
