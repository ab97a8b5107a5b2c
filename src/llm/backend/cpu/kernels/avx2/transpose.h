// 8 x 8 floats, rows to columns; AVX-512 uses it too.
#pragma once

#include <cstddef>

#include <immintrin.h>

namespace ingot::cpu {
namespace {

// out[c * stride + r] = rows[r][c]
inline void transpose_8x8(const __m256 (&rows)[8], float* out, size_t stride) {
    __m256 pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
        quads[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xEE);
        quads[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
        quads[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(out + i * stride, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * stride, _mm256_permute2f128_ps(quads[i], quads[i + 4], 0x31));
    }
}

}  // namespace
}  // namespace ingot::cpu
