#include "metal_conformance/array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "base/half.h"

namespace ingot::metal::conformance {
namespace {

struct TypeRow {
    size_t size_bytes;
    bool is_float, is_signed;
    std::string_view mlx_name, c_name;
    double rounding;
};

// In the order of the enumeration.
constexpr std::array<TypeRow, 13> kTypes{{
    {4, true, true, "float32", "float", 0x1p-23},
    {2, true, true, "float16", "float16_t", 0x1p-10},
    {2, true, true, "bfloat16", "bfloat16_t", 0x1p-7},
    {1, false, true, "int8", "int8_t", 0},
    {1, false, false, "uint8", "uint8_t", 0},
    {2, false, true, "int16", "int16_t", 0},
    {2, false, false, "uint16", "uint16_t", 0},
    {4, false, true, "int32", "int32_t", 0},
    {4, false, false, "uint32", "uint32_t", 0},
    {8, false, true, "int64", "int64_t", 0},
    {8, false, false, "uint64", "uint64_t", 0},
    {1, false, false, "bool_", "bool", 0},
    {4, true, true, "complex64", "complex64_t", 0x1p-23},
}};

constexpr size_t kTailBytes = 4096;
constexpr std::byte kTail{0xA5};

const TypeRow& row(Type type) {
    return kTypes[size_t(type)];
}

template <typename T>
T read(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

template <typename T>
void write(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof(T));
}

}  // namespace

size_t size_bytes(Type type) {
    return row(type).size_bytes;
}
bool is_float(Type type) {
    return row(type).is_float;
}
bool is_signed(Type type) {
    return row(type).is_signed;
}
std::string_view mlx_name(Type type) {
    return row(type).mlx_name;
}
std::string_view c_name(Type type) {
    return row(type).c_name;
}
double rounding(Type type) {
    return row(type).rounding;
}

Array::Array(Type type, size_t count)
    : type_(type), count_(count), bytes_(count * size_bytes(type) + kTailBytes, kTail) {
    std::fill_n(bytes_.begin(), num_bytes(), std::byte{0});
}

bool Array::tail_is_untouched() const {
    return std::all_of(bytes_.begin() + ptrdiff_t(num_bytes()), bytes_.end(),
                       [](std::byte byte) { return byte == kTail; });
}

double Array::get(size_t i) const {
    const std::byte* at = bytes_.data() + i * size_bytes(type_);
    switch (type_) {
        case Type::kF32:
        case Type::kComplex:
            return double(read<float>(at));
        case Type::kF16:
            return double(half_to_float(read<uint16_t>(at)));
        case Type::kBf16:
            return double(bfloat16_to_float(read<uint16_t>(at)));
        case Type::kI8:
            return double(read<int8_t>(at));
        case Type::kBool:
        case Type::kU8:
            return double(read<uint8_t>(at));
        case Type::kI16:
            return double(read<int16_t>(at));
        case Type::kU16:
            return double(read<uint16_t>(at));
        case Type::kI32:
            return double(read<int32_t>(at));
        case Type::kU32:
            return double(read<uint32_t>(at));
        case Type::kI64:
            return double(read<int64_t>(at));
        case Type::kU64:
            return double(read<uint64_t>(at));
    }
    return 0;
}

void Array::set(size_t i, double value) {
    std::byte* at = bytes_.data() + i * size_bytes(type_);
    const auto integer = is_float(type_) ? 0 : int64_t(value);
    switch (type_) {
        case Type::kF32:
        case Type::kComplex:
            return write(at, float(value));
        case Type::kF16:
            return write(at, float_to_half(float(value)));
        case Type::kBf16:
            return write(at, float_to_bfloat16(float(value)));
        case Type::kBool:
            return write(at, uint8_t(value != 0));
        case Type::kI8:
        case Type::kU8:
            return write(at, uint8_t(integer));
        case Type::kI16:
        case Type::kU16:
            return write(at, uint16_t(integer));
        case Type::kI32:
        case Type::kU32:
            return write(at, uint32_t(integer));
        case Type::kI64:
            return write(at, integer);
        case Type::kU64:
            return write(at, value < 0 ? uint64_t(integer) : uint64_t(value));
    }
}

Array random_array(Type type, size_t count, uint32_t seed, double deviation) {
    Array array(type, count);
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, deviation);
    for (size_t i = 0; i < count; ++i) {
        if (is_float(type)) {
            array.set(i, normal(generator));
        } else if (type == Type::kBool) {
            array.set(i, generator() & 1);
        } else {
            const int low = is_signed(type) ? -20 : 0;
            array.set(i, low + int(generator() % 41));
        }
    }
    return array;
}

Array uniform_array(Type type, size_t count, uint32_t seed, double low, double high) {
    Array array(type, count);
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(low, high);
    for (size_t i = 0; i < count; ++i) array.set(i, uniform(generator));
    return array;
}

Array constant_array(Type type, size_t count, double value) {
    Array array(type, count);
    for (size_t i = 0; i < count; ++i) array.set(i, value);
    return array;
}

Array random_bytes(size_t count, uint32_t seed) {
    Array array(Type::kU8, count);
    std::mt19937 generator(seed);
    for (size_t i = 0; i < count; ++i) array.as<uint8_t>()[i] = uint8_t(generator());
    return array;
}

}  // namespace ingot::metal::conformance
