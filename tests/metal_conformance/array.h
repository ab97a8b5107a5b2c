// Arrays whose element type is a value, so that a table of cases can run over types: what kernels get as
// buffers, read and written through double. Random contents depend on the seed alone. Integers of 64 bits
// pass through get() exactly up to 2^53. A complex64 array of n numbers has 2 n elements of kComplex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ingot::metal::conformance {

enum class Type : uint8_t {
    kF32,
    kF16,
    kBf16,
    kI8,
    kU8,
    kI16,
    kU16,
    kI32,
    kU32,
    kI64,
    kU64,
    kBool,
    kComplex
};

size_t size_bytes(Type type);
bool is_float(Type type);
bool is_signed(Type type);
// As MLX's kernel names spell it ("float16", "bool_").
std::string_view mlx_name(Type type);
// As MLX's quantized kernels and C++ spell it ("float16_t", "float").
std::string_view c_name(Type type);
// Half a unit in the last place of a value near 1, doubled: what one rounding may cost; 0 for integers.
double rounding(Type type);

class Array {
  public:
    Array() = default;
    Array(Type type, size_t count);

    Type type() const { return type_; }
    size_t size() const { return count_; }
    double get(size_t i) const;
    // Rounds to nearest even for float types, converts like C for integers.
    void set(size_t i, double value);
    std::byte* data() { return bytes_.data(); }
    size_t num_bytes() const { return count_ * size_bytes(type_); }
    bool tail_is_untouched() const;
    template <typename T>
    T* as() {
        return reinterpret_cast<T*>(bytes_.data());
    }
    template <typename T>
    const T* as() const {
        return reinterpret_cast<const T*>(bytes_.data());
    }

  private:
    Type type_ = Type::kF32;
    size_t count_ = 0;
    std::vector<std::byte> bytes_;
};

// Normal for floats; small integers around 0 (from 0 for unsigned ones) otherwise; half of bools true.
Array random_array(Type type, size_t count, uint32_t seed, double deviation = 1);
Array uniform_array(Type type, size_t count, uint32_t seed, double low, double high);
Array constant_array(Type type, size_t count, double value);
Array random_bytes(size_t count, uint32_t seed);
template <typename T>
Array array_of(Type type, const std::vector<T>& values) {
    Array array(type, values.size());
    for (size_t i = 0; i < values.size(); ++i) array.set(i, double(values[i]));
    return array;
}

}  // namespace ingot::metal::conformance
