// AVX-512's form of the vector operations that the templates in simd/ are written with: sixteen lanes in one
// zmm register. See avx2/vec.h for what each does and why linkage is internal.
#pragma once

#include <cstddef>
#include <cstdint>

#include <immintrin.h>

#include "llm/backend/cpu/kernels/avx2/transpose.h"

namespace ingot::cpu {
namespace {

struct Avx512 {
    static constexpr const char* kName = "avx512-vnni";
    static constexpr bool kSignedBytes = false;
    static constexpr uint32_t kTileTokens = 6, kDirectTileTokens = 6;
    static constexpr uint32_t kPanelGroups = 2;
    static constexpr uint32_t kPanelColumns = 5120;  // the panel stays in the second-level cache
    static constexpr uint32_t kFloatTileTokens = 12;

    using F = __m512;
    using I = __m512i;
    using X = __m512i;

    static F zero() { return _mm512_setzero_ps(); }
    static F set(float x) { return _mm512_set1_ps(x); }
    static F load(const float* p) { return _mm512_loadu_ps(p); }
    static void store(float* p, F a) { _mm512_storeu_ps(p, a); }
    static F add(F a, F b) { return _mm512_add_ps(a, b); }
    static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
    static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
    static F div(F a, F b) { return _mm512_div_ps(a, b); }
    static F max(F a, F b) { return _mm512_max_ps(a, b); }
    static F min(F a, F b) { return _mm512_min_ps(a, b); }
    static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
    static F abs(F a) { return _mm512_abs_ps(a); }
    static F round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
    static float sum(F a) {  // in the order of Avx2::sum, so that both give the same bits
        const __m256 high = _mm512_extractf32x8_ps(a, 1);
        const __m256 s = _mm256_add_ps(_mm512_castps512_ps256(a), high);
        __m128 q = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
        q = _mm_add_ps(q, _mm_movehl_ps(q, q));
        return _mm_cvtss_f32(_mm_add_ss(q, _mm_movehdup_ps(q)));
    }
    static float largest(F a) { return _mm512_reduce_max_ps(a); }
    static bool any_nan(F a, F b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q) != 0; }
    static F power_of_two(F n) {
        const I biased = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
        return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
    }
    static F load_first(const float* p, size_t n) { return _mm512_maskz_loadu_ps(mask(n), p); }
    static void store_first(float* p, size_t n, F a) { _mm512_mask_storeu_ps(p, mask(n), a); }
    static F first(size_t n, F a, F b) { return _mm512_mask_blend_ps(mask(n), b, a); }
    static void load_pairs(const float* p, F& even, F& odd) {
        const I evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        const I odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
        const F a = load(p), b = load(p + 16);
        even = _mm512_permutex2var_ps(a, evens, b);
        odd = _mm512_permutex2var_ps(a, odds, b);
    }
    static void store_pairs(float* p, F even, F odd) {
        const I low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        const I high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
        store(p, _mm512_permutex2var_ps(even, low, odd));
        store(p + 16, _mm512_permutex2var_ps(even, high, odd));
    }
    static void transpose(const F (&rows)[16], float* out) {
        for (int r = 0; r < 16; r += 8) {
            __m256 low[8], high[8];
            for (int i = 0; i < 8; ++i) {
                low[i] = _mm512_castps512_ps256(rows[r + i]);
                high[i] = _mm512_extractf32x8_ps(rows[r + i], 1);
            }
            transpose_8x8(low, out + r, 16);
            transpose_8x8(high, out + 8 * 16 + r, 16);
        }
    }
    static void store_halves(uint16_t* p, F a) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    }

    static F load_halves(const void* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    }
    static F load_bfloats(const void* p) {
        const I wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
        return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    }
    static F load_s8(const void* p) {
        return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))));
    }
    static F load_exponents(const void* p) {
        const I e = load_u8(p);
        const I normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
        const I subnormal = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
        const __mmask16 is_normal = _mm512_cmpgt_epi32_mask(e, _mm512_set1_epi32(1));
        return _mm512_castsi512_ps(_mm512_mask_blend_epi32(is_normal, subnormal, normal));
    }
    static F from_int(I a) { return _mm512_cvtepi32_ps(a); }

    static I load_bytes(const void* p) { return _mm512_loadu_si512(p); }
    static void store_bytes(void* p, I a) { _mm512_storeu_si512(p, a); }
    static I load_u8(const void* p) {
        return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
    }
    static I set_bytes(int x) { return _mm512_set1_epi8(char(x)); }
    static I set_ints(int x) { return _mm512_set1_epi32(x); }
    static I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
    static I bit_or(I a, I b) { return _mm512_or_si512(a, b); }
    static I bit_xor(I a, I b) { return _mm512_xor_si512(a, b); }
    template <int n>
    static I shift_down(I a) {
        if constexpr (n < 0) return _mm512_slli_epi16(a, -n);
        return _mm512_srli_epi16(a, n);
    }
    static I shift_ints_down(I a, int n) { return _mm512_srl_epi32(a, _mm_cvtsi32_si128(n)); }
    static I look_up(const int8_t (&table)[16], I index) {
        const __m128i t = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
        return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), index);
    }

    static X broadcast(const int8_t* four) {
        int32_t x;
        __builtin_memcpy(&x, four, 4);
        return _mm512_set1_epi32(x);
    }

    template <int kMaxCode>
    struct Dot {
        I sum;

        Dot() = default;
        explicit Dot(I initial) : sum(initial) {}
        void step(I codes, X x) { sum = _mm512_dpbusd_epi32(sum, codes, x); }
        I total() const { return sum; }
    };

    static void quantize(F a, F b, float inverse, int8_t* codes, int& sum_first, int& sum_second) {
        const F scale = set(inverse);
        const I first = _mm512_cvtps_epi32(mul(a, scale)), second = _mm512_cvtps_epi32(mul(b, scale));
        sum_first = _mm512_reduce_add_epi32(first);
        sum_second = _mm512_reduce_add_epi32(second);
        auto* out = reinterpret_cast<__m128i*>(codes);
        _mm_storeu_si128(out, _mm512_cvtepi32_epi8(first));
        _mm_storeu_si128(out + 1, _mm512_cvtepi32_epi8(second));
    }

  private:
    static __mmask16 mask(size_t n) { return __mmask16((1u << n) - 1); }
};

}  // namespace
}  // namespace ingot::cpu
