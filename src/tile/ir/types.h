// Element types of tiles and expressions: one table gives the enum, the names in .tile text and in MSL, and
// what the verifier and the interpreter know of each. Every value of every type fits a double exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::tile {

// X(id, .tile name, MSL name, bytes, class, bits of an integer)
#define INGOT_TILE_TYPES(X)                  \
    X(F32, "f32", "float", 4, Float, 0)      \
    X(F16, "f16", "half", 2, Float, 0)       \
    X(BF16, "bf16", "bfloat", 2, Float, 0)   \
    X(I32, "i32", "int", 4, Signed, 32)      \
    X(U32, "u32", "uint", 4, Unsigned, 32)   \
    X(I16, "i16", "short", 2, Signed, 16)    \
    X(U16, "u16", "ushort", 2, Unsigned, 16) \
    X(I8, "i8", "char", 1, Signed, 8)        \
    X(U8, "u8", "uchar", 1, Unsigned, 8)     \
    X(Bool, "bool", "bool", 1, Bool, 1)

enum class DType : uint8_t {
#define X(id, ...) k##id,
    INGOT_TILE_TYPES(X)
#undef X
};

enum class TypeClass : uint8_t { kFloat, kSigned, kUnsigned, kBool };

struct TypeFacts {
    DType type;
    std::string_view name, msl;
    uint32_t size_bytes;
    TypeClass cls;
    uint32_t bits;  // of an integer, else 0
};

inline constexpr TypeFacts kTypes[] = {
#define X(id, name, msl, bytes, cls, bits) {DType::k##id, name, msl, bytes, TypeClass::k##cls, bits},
    INGOT_TILE_TYPES(X)
#undef X
};

constexpr const TypeFacts& facts(DType type) {
    return kTypes[size_t(type)];
}
constexpr std::string_view name(DType type) {
    return facts(type).name;
}
constexpr uint32_t size_bytes(DType type) {
    return facts(type).size_bytes;
}
constexpr bool is_float(DType type) {
    return facts(type).cls == TypeClass::kFloat;
}
constexpr bool is_integer(DType type) {
    return facts(type).cls == TypeClass::kSigned || facts(type).cls == TypeClass::kUnsigned;
}

std::optional<DType> type_named(std::string_view name);

// The type in which two operands meet: the float over the integer, f32 over f16 with bf16, the wider integer.
DType promote(DType a, DType b);

// `value` as a value of `type`: integers wrap, bool is != 0, floats stay (the interpreter doesn't round).
double wrap(DType type, double value);

// The bits of `value` stored as `type`, and back. Floats are rounded to the type.
uint32_t to_bits(DType type, double value);
double from_bits(DType type, uint32_t bits);

}  // namespace ingot::tile
