// AVX2's form of the vector operations that the templates in simd/ are written with: sixteen lanes as two ymm
// registers, one lane a row of a group. avx512/vec.h has the same names. Everything has internal linkage:
// code compiled for one instruction set must never be merged with another's by the linker.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include "llm/backend/cpu/kernels/avx2/transpose.h"

namespace ingot::cpu {
namespace {

struct Avx2 {
    static constexpr const char* kName = "avx2";
    // Codes of 8 bits are multiplied as signed bytes, since vpmaddubsw saturates on larger unsigned ones.
    static constexpr bool kSignedBytes = true;
    // Of a quantized tile: six sums of 8 x i16 and room for operands. A direct one takes two more and leaves
    // its float sums in memory, since it unpacks codes for each tile.
    static constexpr uint32_t kTileTokens = 3, kDirectTileTokens = 4;
    static constexpr uint32_t kPanelGroups = 1;      // groups of a tile
    static constexpr uint32_t kPanelColumns = 1024;  // of K in a panel: it stays in the first-level cache
    static constexpr uint32_t kFloatTileTokens = 6;

    struct F {
        __m256 lo, hi;
    };
    struct I {
        __m256i lo, hi;
    };
    using X = __m256i;  // four activation bytes in every lane

    // Sixteen floats.
    static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
    static F set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
    static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
    static void store(float* p, F a) {
        _mm256_storeu_ps(p, a.lo);
        _mm256_storeu_ps(p + 8, a.hi);
    }
    static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
    static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
    static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
    static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
    static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
    static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
    static F fma(F a, F b, F c) {
        return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
    }
    static F abs(F a) {
        const __m256 sign = _mm256_set1_ps(-0.0f);
        return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
    }
    static F round(F a) {
        constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        return {_mm256_round_ps(a.lo, kNearest), _mm256_round_ps(a.hi, kNearest)};
    }
    static float sum(F a) {
        const __m256 s = _mm256_add_ps(a.lo, a.hi);
        __m128 q = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
        q = _mm_add_ps(q, _mm_movehl_ps(q, q));
        return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
    }
    static float largest(F a) {
        const __m256 s = _mm256_max_ps(a.lo, a.hi);
        __m128 q = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
        q = _mm_max_ps(q, _mm_movehl_ps(q, q));
        return _mm_cvtss_f32(_mm_max_ss(q, _mm_movehdup_ps(q)));
    }
    static bool any_nan(F a, F b) {
        const __m256 low = _mm256_cmp_ps(a.lo, b.lo, _CMP_UNORD_Q),
                     high = _mm256_cmp_ps(a.hi, b.hi, _CMP_UNORD_Q);
        return _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0;
    }
    // 2^n for whole numbers n in [-126, 127].
    static F power_of_two(F n) {
        const __m256i bias = _mm256_set1_epi32(127);
        return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.lo), bias), 23)),
                _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.hi), bias), 23))};
    }
    // Lanes 0..n-1 from memory, the others zero; n in 1..15.
    static F load_first(const float* p, size_t n) {
        return {_mm256_maskload_ps(p, mask(n, 0)), _mm256_maskload_ps(p + 8, mask(n, 8))};
    }
    static void store_first(float* p, size_t n, F a) {
        _mm256_maskstore_ps(p, mask(n, 0), a.lo);
        _mm256_maskstore_ps(p + 8, mask(n, 8), a.hi);
    }
    // a where lane < n, else b.
    static F first(size_t n, F a, F b) {
        return {_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(mask(n, 0))),
                _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(mask(n, 8)))};
    }
    // (p[0], p[2], ..) and (p[1], p[3], ..) of 32 floats, and back.
    static void load_pairs(const float* p, F& even, F& odd) {
        split(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), even.lo, odd.lo);
        split(_mm256_loadu_ps(p + 16), _mm256_loadu_ps(p + 24), even.hi, odd.hi);
    }
    static void store_pairs(float* p, F even, F odd) {
        join(p, even.lo, odd.lo);
        join(p + 16, even.hi, odd.hi);
    }
    // out[16 c + r] = rows[r][c]
    static void transpose(const F (&rows)[16], float* out) {
        for (int r = 0; r < 16; r += 8) {
            __m256 low[8], high[8];
            for (int i = 0; i < 8; ++i) {
                low[i] = rows[r + i].lo;
                high[i] = rows[r + i].hi;
            }
            transpose_8x8(low, out + r, 16);
            transpose_8x8(high, out + 8 * 16 + r, 16);
        }
    }
    // out[16 c + r] = the c-th of the sixteen halves that lie at rows + r * row_bytes
    static void turn_halves(const unsigned char* rows, size_t row_bytes, float* out) {
        turn_8_rows_of_halves(rows, row_bytes, out, 16);
        turn_8_rows_of_halves(rows + 8 * row_bytes, row_bytes, out + 8, 16);
    }
    static void store_halves(uint16_t* p, F a) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 8), _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
    }

    // Sixteen floats from other storage; no alignment needed.
    static F load_halves(const void* p) {
        const auto* q = static_cast<const __m128i*>(p);
        return {_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
    }
    static F load_bfloats(const void* p) {
        const auto* q = static_cast<const __m128i*>(p);
        return {widened(_mm_loadu_si128(q)), widened(_mm_loadu_si128(q + 1))};
    }
    static F load_s8(const void* p) {
        const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
        return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
                _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
    }
    // Half of 2^(e - 127) for sixteen exponent bytes (MXFP4); e < 2 gives subnormals.
    static F load_exponents(const void* p) {
        const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
        return {half_power(_mm256_cvtepu8_epi32(bytes)),
                half_power(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
    }
    static F from_int(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }

    // 64 bytes, or sixteen 32-bit integers.
    static I load_bytes(const void* p) {
        const auto* q = static_cast<const __m256i*>(p);
        return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
    }
    static void store_bytes(void* p, I a) {
        auto* q = static_cast<__m256i*>(p);
        _mm256_storeu_si256(q, a.lo);
        _mm256_storeu_si256(q + 1, a.hi);
    }
    static I load_u8(const void* p) {  // sixteen bytes to 32-bit integers
        const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(p));
        return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
    }
    static I set_bytes(int x) { return {_mm256_set1_epi8(char(x)), _mm256_set1_epi8(char(x))}; }
    static I set_ints(int x) { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
    static I bit_and(I a, I b) { return {_mm256_and_si256(a.lo, b.lo), _mm256_and_si256(a.hi, b.hi)}; }
    static I bit_or(I a, I b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
    static I bit_xor(I a, I b) { return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)}; }
    // Bits of each byte moved down (n < 0: up); the caller masks what comes in from the neighbouring byte.
    template <int n>
    static I shift_down(I a) {
        if constexpr (n < 0) return {_mm256_slli_epi16(a.lo, -n), _mm256_slli_epi16(a.hi, -n)};
        return {_mm256_srli_epi16(a.lo, n), _mm256_srli_epi16(a.hi, n)};
    }
    static I shift_ints_down(I a, int n) {
        const __m128i count = _mm_cvtsi32_si128(n);
        return {_mm256_srl_epi32(a.lo, count), _mm256_srl_epi32(a.hi, count)};
    }
    // table[index] for bytes with indices 0..15.
    static I look_up(const int8_t (&table)[16], I index) {
        const __m256i t =
            _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
        return {_mm256_shuffle_epi8(t, index.lo), _mm256_shuffle_epi8(t, index.hi)};
    }

    static X broadcast(const int8_t* four) {
        int32_t x;
        __builtin_memcpy(&x, four, 4);
        return _mm256_set1_epi32(x);
    }

    // Sum of products of codes and activations, a lane a row. Unsigned codes up to kMaxCode are summed in 16
    // bits for as many steps as can't overflow: two products of at most kMaxCode * 127 a step.
    template <int kMaxCode>
    struct Dot {
        static constexpr bool kBytes = kMaxCode > 127;
        static constexpr int kSteps = kBytes ? 1 : 32767 / (2 * 127 * kMaxCode);

        I sum;
        I part;
        int steps = 0;

        Dot() = default;
        explicit Dot(I initial) : sum(initial) {}

        void step(I codes, X x) {
            I products;
            if constexpr (kBytes) {
                products.lo = _mm256_maddubs_epi16(_mm256_abs_epi8(codes.lo), _mm256_sign_epi8(x, codes.lo));
                products.hi = _mm256_maddubs_epi16(_mm256_abs_epi8(codes.hi), _mm256_sign_epi8(x, codes.hi));
            } else {
                products.lo = _mm256_maddubs_epi16(codes.lo, x);
                products.hi = _mm256_maddubs_epi16(codes.hi, x);
            }
            if (steps == 0) {
                part = products;
            } else {
                part.lo = _mm256_add_epi16(part.lo, products.lo);
                part.hi = _mm256_add_epi16(part.hi, products.hi);
            }
            // Keeps the chain as written: reassociated by the compiler, its products would be spilled first.
            asm("" : "+x"(part.lo), "+x"(part.hi));
            if (++steps == kSteps) flush();
        }
        void flush() {
            const __m256i ones = _mm256_set1_epi16(1);
            sum.lo = _mm256_add_epi32(sum.lo, _mm256_madd_epi16(part.lo, ones));
            sum.hi = _mm256_add_epi32(sum.hi, _mm256_madd_epi16(part.hi, ones));
            steps = 0;
        }
        I total() {
            if (steps != 0) flush();
            return sum;
        }
    };

    // Bytes of eight floats' worth of rounding: see quantize.h. Writes 32 codes, returns sums of each half.
    static void quantize(F a, F b, float inverse, int8_t* codes, int& sum_first, int& sum_second) {
        const __m256 scale = _mm256_set1_ps(inverse);
        const __m256i w0 = _mm256_cvtps_epi32(_mm256_mul_ps(a.lo, scale));
        const __m256i w1 = _mm256_cvtps_epi32(_mm256_mul_ps(a.hi, scale));
        const __m256i w2 = _mm256_cvtps_epi32(_mm256_mul_ps(b.lo, scale));
        const __m256i w3 = _mm256_cvtps_epi32(_mm256_mul_ps(b.hi, scale));
        sum_first = sum_ints(_mm256_add_epi32(w0, w1));
        sum_second = sum_ints(_mm256_add_epi32(w2, w3));
        const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(w0, w1), _mm256_packs_epi32(w2, w3));
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_permutevar8x32_epi32(packed, order));
    }

  private:
    static int sum_ints(__m256i v) {
        __m128i q = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        q = _mm_add_epi32(q, _mm_shuffle_epi32(q, 0x4E));
        return _mm_cvtsi128_si32(_mm_add_epi32(q, _mm_shuffle_epi32(q, 0xB1)));
    }
    static __m256i mask(size_t n, int first) {
        const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n) - first), lanes);
    }
    static __m256 widened(__m128i bfloats) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bfloats), 16));
    }
    static __m256 half_power(__m256i e) {
        const __m256i one = _mm256_set1_epi32(1);
        const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, one), 23);
        const __m256i subnormal = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
        return _mm256_castsi256_ps(_mm256_blendv_epi8(subnormal, normal, _mm256_cmpgt_epi32(e, one)));
    }
    static void split(__m256 a, __m256 b, __m256& even, __m256& odd) {
        const __m256 low = _mm256_permute2f128_ps(a, b, 0x20), high = _mm256_permute2f128_ps(a, b, 0x31);
        even = _mm256_shuffle_ps(low, high, 0x88);
        odd = _mm256_shuffle_ps(low, high, 0xDD);
    }
    static void join(float* p, __m256 even, __m256 odd) {
        const __m256 low = _mm256_unpacklo_ps(even, odd), high = _mm256_unpackhi_ps(even, odd);
        _mm256_storeu_ps(p, _mm256_permute2f128_ps(low, high, 0x20));
        _mm256_storeu_ps(p + 8, _mm256_permute2f128_ps(low, high, 0x31));
    }
};

}  // namespace
}  // namespace ingot::cpu
