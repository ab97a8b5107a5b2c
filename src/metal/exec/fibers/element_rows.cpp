#include "metal/exec/fibers/element_rows.h"

#include <bit>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/half.h"
#include "metal/exec/fibers/vector_clones.h"

namespace ingot::metal::fibers {
namespace {

#if defined(__x86_64__)

__attribute__((target("avx,f16c"))) void convert_halves(float* out, const uint16_t* from, size_t count) {
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(halves));
    }
    for (; i < count; ++i) out[i] = half_to_float(from[i]);
}

#endif

void halves_to_floats(float* out, const uint16_t* from, size_t count) {
#if defined(__x86_64__)
    static const bool has_f16c = __builtin_cpu_supports("f16c");
    if (has_f16c) return convert_halves(out, from, count);
#endif
    for (size_t i = 0; i < count; ++i) out[i] = half_to_float(from[i]);
}

INGOT_METAL_VECTOR_CLONES
void bfloats_to_floats(float* out, const uint16_t* from, size_t count) {
    for (size_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(uint32_t(from[i]) << 16);
}

template <typename Number, typename Element>
void convert(Number* out, const void* from, size_t count) {
    const auto* elements = static_cast<const Element*>(from);
    for (size_t i = 0; i < count; ++i) out[i] = Number(elements[i]);
}

// Toward zero, saturating, NaN to 0.
int32_t to_int(float value) {
    if (std::isnan(value)) return 0;
    return value >= 0x1p31f ? INT32_MAX : value < -0x1p31f ? INT32_MIN : int32_t(value);
}

template <typename Element>
void narrow(void* to, const int32_t* values, size_t count) {
    auto* elements = static_cast<Element*>(to);
    for (size_t i = 0; i < count; ++i) elements[i] = Element(values[i]);
}

}  // namespace

void read_elements(float* out, const void* from, size_t count, TensorType type) {
    switch (type) {
        case TensorType::kF32:
            std::memcpy(out, from, count * sizeof(float));
            return;
        case TensorType::kF16:
            return halves_to_floats(out, static_cast<const uint16_t*>(from), count);
        case TensorType::kBF16:
            return bfloats_to_floats(out, static_cast<const uint16_t*>(from), count);
        case TensorType::kI32:
            return convert<float, int32_t>(out, from, count);
        case TensorType::kI8:
            return convert<float, int8_t>(out, from, count);
        case TensorType::kU8:
            return convert<float, uint8_t>(out, from, count);
    }
}

void read_elements(int32_t* out, const void* from, size_t count, TensorType type) {
    switch (type) {
        case TensorType::kI32:
            std::memcpy(out, from, count * sizeof(int32_t));
            return;
        case TensorType::kI8:
            return convert<int32_t, int8_t>(out, from, count);
        case TensorType::kU8:
            return convert<int32_t, uint8_t>(out, from, count);
        default:
            break;
    }
    for (size_t i = 0; i < count; ++i) {
        float value = 0;
        read_elements(&value, static_cast<const char*>(from) + i * size_t(bytes_of(type)), 1, type);
        out[i] = to_int(value);
    }
}

void write_elements(void* to, const float* values, size_t count, TensorType type) {
    switch (type) {
        case TensorType::kF32:
            std::memcpy(to, values, count * sizeof(float));
            return;
        case TensorType::kF16:
            for (size_t i = 0; i < count; ++i) static_cast<uint16_t*>(to)[i] = float_to_half(values[i]);
            return;
        case TensorType::kBF16:
            for (size_t i = 0; i < count; ++i) static_cast<uint16_t*>(to)[i] = float_to_bfloat16(values[i]);
            return;
        default:
            break;
    }
    for (size_t i = 0; i < count; ++i) {
        const int32_t value = to_int(values[i]);
        write_elements(static_cast<char*>(to) + i * size_t(bytes_of(type)), &value, 1, type);
    }
}

void write_elements(void* to, const int32_t* values, size_t count, TensorType type) {
    switch (type) {
        case TensorType::kI32:
            std::memcpy(to, values, count * sizeof(int32_t));
            return;
        case TensorType::kI8:
            return narrow<int8_t>(to, values, count);
        case TensorType::kU8:
            return narrow<uint8_t>(to, values, count);
        default:
            break;
    }
    for (size_t i = 0; i < count; ++i) {
        const auto value = float(values[i]);
        write_elements(static_cast<char*>(to) + i * size_t(bytes_of(type)), &value, 1, type);
    }
}

}  // namespace ingot::metal::fibers
