// Elements of a KV cell's row as floats, by storage format.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/kv/format.h"

namespace ingot::cpu {
namespace {

template <typename V>
inline typename V::F load_floats(const float* p, uint32_t n) {
    return n >= 16 ? V::load(p) : V::load_first(p, n);
}

// load(): elements [at, at + 16) of a row, zero from the n-th on. load_whole(): the same where there are 16
// and `at` is a multiple of 16.
template <typename V, kv::Format kFormat>
struct Cells;

template <typename V>
struct Cells<V, kv::Format::kF32> {
    using F = typename V::F;
    static F load(const unsigned char* row, size_t at, uint32_t n) {
        return load_floats<V>(reinterpret_cast<const float*>(row) + at, n);
    }
    static F load_whole(const unsigned char* row, size_t at) {
        return V::load(reinterpret_cast<const float*>(row) + at);
    }
};

template <typename V>
struct Cells<V, kv::Format::kF16> {
    using F = typename V::F;
    static F load(const unsigned char* row, size_t at, uint32_t n) {
        if (n >= 16) return load_whole(row, at);
        uint16_t padded[16] = {};
        __builtin_memcpy(padded, row + at * sizeof(uint16_t), n * sizeof(uint16_t));
        return V::load_halves(padded);
    }
    static F load_whole(const unsigned char* row, size_t at) {
        return V::load_halves(row + at * sizeof(uint16_t));
    }
};

template <typename V>
struct Cells<V, kv::Format::kQ8_0> {
    using F = typename V::F;
    static constexpr size_t kBlock = 32, kBlockBytes = 34;

    static F load(const unsigned char* row, size_t at, uint32_t n) {
        if (at % 16 == 0 && n >= 16) return load_whole(row, at);
        uint16_t scales[16] = {};
        signed char codes[16] = {};
        for (size_t k = 0; k < 16 && k < n; ++k) {
            const unsigned char* block = row + (at + k) / kBlock * kBlockBytes;
            __builtin_memcpy(&scales[k], block, sizeof scales[k]);
            codes[k] = static_cast<signed char>(block[2 + (at + k) % kBlock]);
        }
        return V::mul(V::load_s8(codes), V::load_halves(scales));
    }
    static F load_whole(const unsigned char* row, size_t at) {
        const unsigned char* block = row + at / kBlock * kBlockBytes;
        uint16_t scale, scales[16];
        __builtin_memcpy(&scale, block, sizeof scale);
        for (uint16_t& each : scales) each = scale;
        return V::mul(V::load_s8(block + 2 + at % kBlock), V::load_halves(scales));
    }
};

}  // namespace
}  // namespace ingot::cpu
