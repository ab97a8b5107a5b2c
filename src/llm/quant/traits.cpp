#include <algorithm>

#include "base/check.h"
#include "llm/quant/conversions.h"
#include "llm/quant/quant.h"

namespace ingot {
namespace {

using namespace quant;

constexpr QuantTraits kTypes[] = {
    {QuantType::kF32, "F32", 1, 4, dequantize_f32, quantize_f32},
    {QuantType::kF16, "F16", 1, 2, dequantize_f16, quantize_f16},
    {QuantType::kBF16, "BF16", 1, 2, dequantize_bf16, quantize_bf16},
    {QuantType::kQ4_0, "Q4_0", 32, 18, dequantize_q4_0, quantize_q4_0},
    {QuantType::kQ4_1, "Q4_1", 32, 20, dequantize_q4_1, quantize_q4_1},
    {QuantType::kQ5_0, "Q5_0", 32, 22, dequantize_q5_0, quantize_q5_0},
    {QuantType::kQ5_1, "Q5_1", 32, 24, dequantize_q5_1, quantize_q5_1},
    {QuantType::kQ8_0, "Q8_0", 32, 34, dequantize_q8_0, quantize_q8_0},
    {QuantType::kQ2_K, "Q2_K", 256, 84, dequantize_q2_k, quantize_q2_k},
    {QuantType::kQ3_K, "Q3_K", 256, 110, dequantize_q3_k, quantize_q3_k},
    {QuantType::kQ4_K, "Q4_K", 256, 144, dequantize_q4_k, quantize_q4_k},
    {QuantType::kQ5_K, "Q5_K", 256, 176, dequantize_q5_k, quantize_q5_k},
    {QuantType::kQ6_K, "Q6_K", 256, 210, dequantize_q6_k, quantize_q6_k},
    {QuantType::kIQ4_NL, "IQ4_NL", 32, 18, dequantize_iq4_nl, quantize_iq4_nl},
    {QuantType::kMXFP4, "MXFP4", 32, 17, dequantize_mxfp4, quantize_mxfp4},
};

char upper(char c) {
    return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
}

}  // namespace

std::span<const QuantTraits> all_quant_types() {
    return kTypes;
}

const QuantTraits& traits(QuantType type) {
    const auto row = std::ranges::find(kTypes, type, &QuantTraits::type);
    INGOT_CHECK(row != std::end(kTypes), "no quant type has id {}", uint32_t(type));
    return *row;
}

std::optional<QuantType> quant_type_from_gguf_id(uint32_t id) {
    const auto row = std::ranges::find(kTypes, QuantType(id), &QuantTraits::type);
    if (row == std::end(kTypes)) return std::nullopt;
    return row->type;
}

std::optional<QuantType> quant_type_from_name(std::string_view name) {
    for (const QuantTraits& row : kTypes) {
        if (std::ranges::equal(name, row.name, {}, upper, upper)) return row.type;
    }
    return std::nullopt;
}

std::optional<uint64_t> storage_size_bytes(QuantType type, uint64_t count) {
    const QuantTraits& row = traits(type);
    if (count % row.block_size != 0) return std::nullopt;
    uint64_t size_bytes = 0;
    if (__builtin_mul_overflow(count / row.block_size, uint64_t(row.block_size_bytes), &size_bytes)) {
        return std::nullopt;
    }
    return size_bytes;
}

}  // namespace ingot
