// What the CPU kernel tests share: random weights as GGUF bytes, aligned workspace, and the list of ISAs that
// this machine runs, so that each test says in its name which path it took.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/half.h"
#include "base/thread_pool.h"
#include "llm/backend/cpu/kernels/kernel_table.h"
#include "llm/quant/quant.h"

namespace ingot::cpu {

inline std::string test_name(std::string_view text) {
    std::string name;
    for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
}

// A table under test: those of the instruction sets that this machine runs, and AVX-VNNI and AVX-512 on
// scalar loops.
struct TestedTable {
    std::string name;
    const KernelTable* kernels;
};
#if defined(__x86_64__)
const KernelTable& emulated_avx_vnni_table();
const KernelTable& emulated_avx512_table();
#endif

inline std::vector<TestedTable> tested_tables() {
    std::vector<TestedTable> tables;
    for (const Isa isa : available_isas()) tables.push_back({test_name(to_string(isa)), &kernel_table(isa)});
#if defined(__x86_64__)
    tables.push_back({"emulated_avx_vnni", &emulated_avx_vnni_table()});
    tables.push_back({"emulated_avx512", &emulated_avx512_table()});
#endif
    return tables;
}

inline std::vector<float> random_floats(size_t count, uint32_t seed, float deviation = 1.0f) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> values(count);
    for (float& value : values) value = normal(generator);
    return values;
}

// Byte offsets of the half-precision scales in a block; -1: none.
struct ScaleOffsets {
    int scale, minimum;
};
inline ScaleOffsets scale_offsets(QuantType type) {
    switch (type) {
        case QuantType::kQ4_1:
        case QuantType::kQ5_1:
        case QuantType::kQ4_K:
        case QuantType::kQ5_K:
            return {0, 2};
        case QuantType::kQ2_K:
            return {80, 82};
        case QuantType::kQ3_K:
            return {108, -1};
        case QuantType::kQ6_K:
            return {208, -1};
        default:
            return {0, -1};
    }
}

// A [rows, cols] matrix: random bits, so that every quant and sub-scale occurs, under scales of moderate size
// and either sign; normal values for the float types.
inline std::vector<std::byte> random_weights(QuantType type, size_t rows, size_t cols, uint32_t seed) {
    const QuantTraits& quant = traits(type);
    std::vector<std::byte> bytes(rows * cols / quant.block_size * quant.block_size_bytes);
    if (quant.block_size == 1) {
        const std::vector<float> values = random_floats(rows * cols, seed, 0.3f);
        for (size_t i = 0; i < values.size(); ++i) {
            const uint16_t half =
                type == QuantType::kBF16 ? float_to_bfloat16(values[i]) : float_to_half(values[i]);
            if (type == QuantType::kF32) {
                std::memcpy(bytes.data() + i * 4, &values[i], 4);
            } else {
                std::memcpy(bytes.data() + i * 2, &half, 2);
            }
        }
        return bytes;
    }
    std::mt19937 generator(seed);
    for (std::byte& byte : bytes) byte = std::byte(generator());
    std::uniform_real_distribution<float> size(0.001f, 0.01f);
    const auto put = [&](std::byte* block, int offset) {
        if (offset < 0) return;
        const uint16_t half = float_to_half(generator() % 4 == 0 ? -size(generator) : size(generator));
        std::memcpy(block + offset, &half, 2);
    };
    for (size_t at = 0; at < bytes.size(); at += quant.block_size_bytes) {
        if (type == QuantType::kMXFP4) {  // its scale is the exponent of a power of two
            bytes[at] = std::byte(118 + generator() % 8);
            continue;
        }
        put(&bytes[at], scale_offsets(type).scale);
        put(&bytes[at], scale_offsets(type).minimum);
    }
    return bytes;
}

inline std::vector<float> dequantized(QuantType type, const std::vector<std::byte>& blocks, size_t count) {
    std::vector<float> values(count);
    traits(type).dequantize(blocks.data(), values.data(), count);
    return values;
}

// 64-byte aligned scratch, filled with NaN so that nobody relies on zeros.
class Workspace {
  public:
    explicit Workspace(size_t size_bytes) : floats_(size_bytes / sizeof(float) + 32, std::nanf("")) {}
    std::byte* data() {
        const auto address = reinterpret_cast<uintptr_t>(floats_.data());
        return reinterpret_cast<std::byte*>((address + 63) / 64 * 64);
    }

  private:
    std::vector<float> floats_;
};

}  // namespace ingot::cpu
