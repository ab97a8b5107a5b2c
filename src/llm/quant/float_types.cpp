// F32, F16 and BF16: stored values, no blocks.
#include "llm/quant/blocks.h"
#include "llm/quant/conversions.h"

namespace ingot::quant {

void dequantize_f32(const std::byte* blocks, float* values, size_t count) {
    std::memcpy(values, blocks, count * sizeof(float));
}

void quantize_f32(const float* values, std::byte* blocks, size_t count) {
    std::memcpy(blocks, values, count * sizeof(float));
}

void dequantize_f16(const std::byte* blocks, float* values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = load_half(blocks + 2 * i);
}

void quantize_f16(const float* values, std::byte* blocks, size_t count) {
    for (size_t i = 0; i < count; ++i) store_half(blocks + 2 * i, values[i]);
}

void dequantize_bf16(const std::byte* blocks, float* values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = bfloat16_to_float(load_u16(blocks + 2 * i));
}

void quantize_bf16(const float* values, std::byte* blocks, size_t count) {
    for (size_t i = 0; i < count; ++i) store_u16(blocks + 2 * i, float_to_bfloat16(values[i]));
}

}  // namespace ingot::quant
