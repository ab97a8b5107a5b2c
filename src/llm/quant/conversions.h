// The reference conversions that the table in traits.cpp names, one pair a type; contracts as in QuantTraits.
// Only traits.cpp and the files that define them include this.
#pragma once

#include <cstddef>

namespace ingot::quant {

#define INGOT_DECLARE_CONVERSIONS(type)                                           \
    void dequantize_##type(const std::byte* blocks, float* values, size_t count); \
    void quantize_##type(const float* values, std::byte* blocks, size_t count)

INGOT_DECLARE_CONVERSIONS(f32);
INGOT_DECLARE_CONVERSIONS(f16);
INGOT_DECLARE_CONVERSIONS(bf16);
INGOT_DECLARE_CONVERSIONS(q4_0);
INGOT_DECLARE_CONVERSIONS(q4_1);
INGOT_DECLARE_CONVERSIONS(q5_0);
INGOT_DECLARE_CONVERSIONS(q5_1);
INGOT_DECLARE_CONVERSIONS(q8_0);
INGOT_DECLARE_CONVERSIONS(q2_k);
INGOT_DECLARE_CONVERSIONS(q3_k);
INGOT_DECLARE_CONVERSIONS(q4_k);
INGOT_DECLARE_CONVERSIONS(q5_k);
INGOT_DECLARE_CONVERSIONS(q6_k);
INGOT_DECLARE_CONVERSIONS(iq4_nl);
INGOT_DECLARE_CONVERSIONS(mxfp4);

#undef INGOT_DECLARE_CONVERSIONS

}  // namespace ingot::quant
