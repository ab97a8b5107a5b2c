// Rows to columns: 8 x 8 floats, which AVX-512 uses too, and 8 x 16 halves as floats.
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

// out[c * stride + r] = the c-th of the sixteen halves that lie at rows + r * row_bytes
inline void turn_8_rows_of_halves(const unsigned char* rows, size_t row_bytes, float* out, size_t stride) {
    const auto row = [&](int r) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + size_t(r) * row_bytes));
    };
    // Of two rows, then four, then eight; a lane's columns stay in the lane.
    __m256i pairs[8], quads[8];
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi16(row(i), row(i + 1));
        pairs[i + 1] = _mm256_unpackhi_epi16(row(i), row(i + 1));
    }
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_unpacklo_epi32(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm256_unpackhi_epi32(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm256_unpacklo_epi32(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm256_unpackhi_epi32(pairs[i + 1], pairs[i + 3]);
    }
    const auto store = [&](int column, __m256i halves) {
        _mm256_storeu_ps(out + size_t(column) * stride, _mm256_cvtph_ps(_mm256_castsi256_si128(halves)));
        _mm256_storeu_ps(out + size_t(column + 8) * stride,
                         _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1)));
    };
    for (int i = 0; i < 4; ++i) {
        store(2 * i, _mm256_unpacklo_epi64(quads[i], quads[i + 4]));
        store(2 * i + 1, _mm256_unpackhi_epi64(quads[i], quads[i + 4]));
    }
}

}  // namespace
}  // namespace ingot::cpu
