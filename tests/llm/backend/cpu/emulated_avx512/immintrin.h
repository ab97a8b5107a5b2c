// AVX-512 as scalar loops: the intrinsics that the kernels use, under the compiler's own names, so that their
// source compiles for and is tested on machines without it. Written from Intel's description of each
// instruction. AVX2 and below come from the real header.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include_next <immintrin.h>

// Calls, not inlined: the kernels unroll everything, and so their code stays small.
#define INGOT_EMULATED inline __attribute__((noinline))

namespace ingot::emulated {

struct alignas(64) F512 {
    float v[16];
};
struct alignas(64) I512 {
    int32_t v[16];
};
using Mask16 = uint16_t;

template <typename V, typename Function>
inline V make(Function f) {
    V r;
    for (int i = 0; i < 16; ++i) r.v[i] = f(i);
    return r;
}

INGOT_EMULATED F512 setzero_ps() {
    return {};
}
INGOT_EMULATED F512 set1_ps(float x) {
    return make<F512>([=](int) { return x; });
}
INGOT_EMULATED I512 set1_epi32(int x) {
    return make<I512>([=](int) { return x; });
}
INGOT_EMULATED I512 set1_epi8(char x) {
    return set1_epi32(int(uint32_t(uint8_t(x)) * 0x01010101u));
}
template <typename... Ints>
INGOT_EMULATED I512 setr_epi32(Ints... x) {
    return {{x...}};
}

INGOT_EMULATED F512 loadu_ps(const void* p) {
    F512 r;
    std::memcpy(&r, p, 64);
    return r;
}
INGOT_EMULATED I512 loadu_si512(const void* p) {
    I512 r;
    std::memcpy(&r, p, 64);
    return r;
}
INGOT_EMULATED void storeu_ps(void* p, F512 a) {
    std::memcpy(p, &a, 64);
}
INGOT_EMULATED void storeu_si512(void* p, I512 a) {
    std::memcpy(p, &a, 64);
}
INGOT_EMULATED F512 maskz_loadu_ps(Mask16 m, const float* p) {
    return make<F512>([=](int i) { return m >> i & 1 ? p[i] : 0.0f; });
}
INGOT_EMULATED void mask_storeu_ps(float* p, Mask16 m, F512 a) {
    for (int i = 0; i < 16; ++i) {
        if (m >> i & 1) p[i] = a.v[i];
    }
}

INGOT_EMULATED F512 add_ps(F512 a, F512 b) {
    return make<F512>([&](int i) { return a.v[i] + b.v[i]; });
}
INGOT_EMULATED F512 sub_ps(F512 a, F512 b) {
    return make<F512>([&](int i) { return a.v[i] - b.v[i]; });
}
INGOT_EMULATED F512 mul_ps(F512 a, F512 b) {
    return make<F512>([&](int i) { return a.v[i] * b.v[i]; });
}
INGOT_EMULATED F512 div_ps(F512 a, F512 b) {
    return make<F512>([&](int i) { return a.v[i] / b.v[i]; });
}
// The second operand if either is NaN.
INGOT_EMULATED F512 max_ps(F512 a, F512 b) {
    return make<F512>([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
}
INGOT_EMULATED F512 min_ps(F512 a, F512 b) {
    return make<F512>([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
}
INGOT_EMULATED F512 fmadd_ps(F512 a, F512 b, F512 c) {
    return make<F512>([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
}
INGOT_EMULATED F512 abs_ps(F512 a) {
    return make<F512>([&](int i) { return std::fabs(a.v[i]); });
}
INGOT_EMULATED F512 roundscale_ps(F512 a, int) {
    return make<F512>([&](int i) { return std::nearbyint(a.v[i]); });
}
INGOT_EMULATED Mask16 cmp_ps_mask(F512 a, F512 b, int) {  // _CMP_UNORD_Q alone is used
    uint32_t m = 0;
    for (int i = 0; i < 16; ++i) m |= uint32_t(std::isnan(a.v[i]) || std::isnan(b.v[i])) << i;
    return Mask16(m);
}
INGOT_EMULATED float reduce_max_ps(F512 a) {
    float r = a.v[0];
    for (const float x : a.v) r = x > r ? x : r;
    return r;
}
INGOT_EMULATED int reduce_add_epi32(I512 a) {
    int r = 0;
    for (const int x : a.v) r += x;
    return r;
}
INGOT_EMULATED F512 mask_blend_ps(Mask16 m, F512 a, F512 b) {
    return make<F512>([&](int i) { return m >> i & 1 ? b.v[i] : a.v[i]; });
}
INGOT_EMULATED I512 mask_blend_epi32(Mask16 m, I512 a, I512 b) {
    return make<I512>([&](int i) { return m >> i & 1 ? b.v[i] : a.v[i]; });
}
INGOT_EMULATED F512 permutex2var_ps(F512 a, I512 index, F512 b) {
    return make<F512>([&](int i) { return index.v[i] & 16 ? b.v[index.v[i] & 15] : a.v[index.v[i] & 15]; });
}

INGOT_EMULATED F512 castsi512_ps(I512 a) {
    return loadu_ps(&a);
}
INGOT_EMULATED __m256 castps512_ps256(F512 a) {
    return _mm256_loadu_ps(a.v);
}
INGOT_EMULATED __m256 extractf32x8_ps(F512 a, int half) {
    return _mm256_loadu_ps(a.v + 8 * half);
}
INGOT_EMULATED F512 cvtepi32_ps(I512 a) {
    return make<F512>([&](int i) { return float(a.v[i]); });
}
INGOT_EMULATED I512 cvtps_epi32(F512 a) {
    return make<I512>([&](int i) {
        const bool fits = a.v[i] >= -2147483648.0f && a.v[i] < 2147483648.0f;
        return fits ? int32_t(std::nearbyint(a.v[i])) : INT32_MIN;
    });
}
INGOT_EMULATED __m128i cvtepi32_epi8(I512 a) {
    int8_t r[16];
    for (int i = 0; i < 16; ++i) r[i] = int8_t(a.v[i]);
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(r));
}
INGOT_EMULATED I512 cvtepi8_epi32(__m128i a) {
    int8_t x[16];
    std::memcpy(x, &a, 16);
    return make<I512>([&](int i) { return int32_t(x[i]); });
}
INGOT_EMULATED I512 cvtepu8_epi32(__m128i a) {
    uint8_t x[16];
    std::memcpy(x, &a, 16);
    return make<I512>([&](int i) { return int32_t(x[i]); });
}
INGOT_EMULATED I512 cvtepu16_epi32(__m256i a) {
    uint16_t x[16];
    std::memcpy(x, &a, 32);
    return make<I512>([&](int i) { return int32_t(x[i]); });
}
INGOT_EMULATED F512 cvtph_ps(__m256i a) {
    F512 r;
    _mm256_storeu_ps(r.v, _mm256_cvtph_ps(_mm256_castsi256_si128(a)));
    _mm256_storeu_ps(r.v + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
    return r;
}
INGOT_EMULATED __m256i cvtps_ph(F512 a, int) {
    const __m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(a.v), _MM_FROUND_TO_NEAREST_INT);
    return _mm256_set_m128i(_mm256_cvtps_ph(_mm256_loadu_ps(a.v + 8), _MM_FROUND_TO_NEAREST_INT), low);
}

INGOT_EMULATED I512 add_epi32(I512 a, I512 b) {
    return make<I512>([&](int i) { return int32_t(uint32_t(a.v[i]) + uint32_t(b.v[i])); });
}
INGOT_EMULATED I512 sub_epi32(I512 a, I512 b) {
    return make<I512>([&](int i) { return int32_t(uint32_t(a.v[i]) - uint32_t(b.v[i])); });
}
INGOT_EMULATED I512 and_si512(I512 a, I512 b) {
    return make<I512>([&](int i) { return a.v[i] & b.v[i]; });
}
INGOT_EMULATED I512 or_si512(I512 a, I512 b) {
    return make<I512>([&](int i) { return a.v[i] | b.v[i]; });
}
INGOT_EMULATED I512 xor_si512(I512 a, I512 b) {
    return make<I512>([&](int i) { return a.v[i] ^ b.v[i]; });
}
inline uint32_t shifted_left(int32_t x, uint32_t n) {
    return n > 31 ? 0 : uint32_t(x) << n;
}
INGOT_EMULATED I512 slli_epi32(I512 a, int n) {
    return make<I512>([&](int i) { return int32_t(shifted_left(a.v[i], uint32_t(n))); });
}
INGOT_EMULATED I512 sllv_epi32(I512 a, I512 n) {
    return make<I512>([&](int i) { return int32_t(shifted_left(a.v[i], uint32_t(n.v[i]))); });
}
INGOT_EMULATED I512 srl_epi32(I512 a, __m128i n) {
    const uint32_t count = uint32_t(_mm_cvtsi128_si32(n));
    return make<I512>([&](int i) { return int32_t(count > 31 ? 0 : uint32_t(a.v[i]) >> count); });
}
// Each half of a 32-bit lane by itself.
INGOT_EMULATED I512 slli_epi16(I512 a, int n) {
    const uint32_t keep = (0xFFFFu << n & 0xFFFFu) * 0x10001u;
    return make<I512>([&](int i) { return int32_t(uint32_t(a.v[i]) << n & keep); });
}
INGOT_EMULATED I512 srli_epi16(I512 a, int n) {
    const uint32_t keep = (0xFFFFu >> n) * 0x10001u;
    return make<I512>([&](int i) { return int32_t(uint32_t(a.v[i]) >> n & keep); });
}
INGOT_EMULATED Mask16 cmpgt_epi32_mask(I512 a, I512 b) {
    uint32_t m = 0;
    for (int i = 0; i < 16; ++i) m |= uint32_t(a.v[i] > b.v[i]) << i;
    return Mask16(m);
}
INGOT_EMULATED I512 broadcast_i32x4(__m128i a) {
    int32_t x[4];
    std::memcpy(x, &a, 16);
    return make<I512>([&](int i) { return x[i % 4]; });
}
INGOT_EMULATED I512 shuffle_epi8(I512 a, I512 index) {  // within each 16 bytes
    uint8_t from[64], at[64], r[64];
    std::memcpy(from, &a, 64);
    std::memcpy(at, &index, 64);
    for (int i = 0; i < 64; ++i) r[i] = at[i] & 0x80 ? 0 : from[i / 16 * 16 + (at[i] & 15)];
    return loadu_si512(r);
}
// Unsigned bytes of a times signed bytes of b, four products added to each lane.
INGOT_EMULATED I512 dpbusd_epi32(I512 sum, I512 a, I512 b) {
    uint8_t u[64];
    int8_t s[64];
    std::memcpy(u, &a, 64);
    std::memcpy(s, &b, 64);
    return make<I512>([&](int i) {
        int r = sum.v[i];
        for (int k = 4 * i; k < 4 * i + 4; ++k) r += int(u[k]) * int(s[k]);
        return r;
    });
}

}  // namespace ingot::emulated

#define __m512 ::ingot::emulated::F512
#define __m512i ::ingot::emulated::I512
#define __mmask16 ::ingot::emulated::Mask16
#undef _mm512_abs_ps
#define _mm512_abs_ps ::ingot::emulated::abs_ps
#undef _mm512_add_epi32
#define _mm512_add_epi32 ::ingot::emulated::add_epi32
#undef _mm512_add_ps
#define _mm512_add_ps ::ingot::emulated::add_ps
#undef _mm512_and_si512
#define _mm512_and_si512 ::ingot::emulated::and_si512
#undef _mm512_broadcast_i32x4
#define _mm512_broadcast_i32x4 ::ingot::emulated::broadcast_i32x4
#undef _mm512_castps512_ps256
#define _mm512_castps512_ps256 ::ingot::emulated::castps512_ps256
#undef _mm512_castsi512_ps
#define _mm512_castsi512_ps ::ingot::emulated::castsi512_ps
#undef _mm512_cmp_ps_mask
#define _mm512_cmp_ps_mask ::ingot::emulated::cmp_ps_mask
#undef _mm512_cmpgt_epi32_mask
#define _mm512_cmpgt_epi32_mask ::ingot::emulated::cmpgt_epi32_mask
#undef _mm512_cvtepi32_epi8
#define _mm512_cvtepi32_epi8 ::ingot::emulated::cvtepi32_epi8
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps ::ingot::emulated::cvtepi32_ps
#undef _mm512_cvtepi8_epi32
#define _mm512_cvtepi8_epi32 ::ingot::emulated::cvtepi8_epi32
#undef _mm512_cvtepu16_epi32
#define _mm512_cvtepu16_epi32 ::ingot::emulated::cvtepu16_epi32
#undef _mm512_cvtepu8_epi32
#define _mm512_cvtepu8_epi32 ::ingot::emulated::cvtepu8_epi32
#undef _mm512_cvtph_ps
#define _mm512_cvtph_ps ::ingot::emulated::cvtph_ps
#undef _mm512_cvtps_epi32
#define _mm512_cvtps_epi32 ::ingot::emulated::cvtps_epi32
#undef _mm512_cvtps_ph
#define _mm512_cvtps_ph ::ingot::emulated::cvtps_ph
#undef _mm512_div_ps
#define _mm512_div_ps ::ingot::emulated::div_ps
#undef _mm512_dpbusd_epi32
#define _mm512_dpbusd_epi32 ::ingot::emulated::dpbusd_epi32
#undef _mm512_extractf32x8_ps
#define _mm512_extractf32x8_ps ::ingot::emulated::extractf32x8_ps
#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps ::ingot::emulated::fmadd_ps
#undef _mm512_loadu_ps
#define _mm512_loadu_ps ::ingot::emulated::loadu_ps
#undef _mm512_loadu_si512
#define _mm512_loadu_si512 ::ingot::emulated::loadu_si512
#undef _mm512_mask_blend_epi32
#define _mm512_mask_blend_epi32 ::ingot::emulated::mask_blend_epi32
#undef _mm512_mask_blend_ps
#define _mm512_mask_blend_ps ::ingot::emulated::mask_blend_ps
#undef _mm512_mask_storeu_ps
#define _mm512_mask_storeu_ps ::ingot::emulated::mask_storeu_ps
#undef _mm512_maskz_loadu_ps
#define _mm512_maskz_loadu_ps ::ingot::emulated::maskz_loadu_ps
#undef _mm512_max_ps
#define _mm512_max_ps ::ingot::emulated::max_ps
#undef _mm512_min_ps
#define _mm512_min_ps ::ingot::emulated::min_ps
#undef _mm512_mul_ps
#define _mm512_mul_ps ::ingot::emulated::mul_ps
#undef _mm512_or_si512
#define _mm512_or_si512 ::ingot::emulated::or_si512
#undef _mm512_permutex2var_ps
#define _mm512_permutex2var_ps ::ingot::emulated::permutex2var_ps
#undef _mm512_reduce_add_epi32
#define _mm512_reduce_add_epi32 ::ingot::emulated::reduce_add_epi32
#undef _mm512_reduce_max_ps
#define _mm512_reduce_max_ps ::ingot::emulated::reduce_max_ps
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps ::ingot::emulated::roundscale_ps
#undef _mm512_set1_epi32
#define _mm512_set1_epi32 ::ingot::emulated::set1_epi32
#undef _mm512_set1_epi8
#define _mm512_set1_epi8 ::ingot::emulated::set1_epi8
#undef _mm512_set1_ps
#define _mm512_set1_ps ::ingot::emulated::set1_ps
#undef _mm512_setr_epi32
#define _mm512_setr_epi32 ::ingot::emulated::setr_epi32
#undef _mm512_setzero_ps
#define _mm512_setzero_ps ::ingot::emulated::setzero_ps
#undef _mm512_shuffle_epi8
#define _mm512_shuffle_epi8 ::ingot::emulated::shuffle_epi8
#undef _mm512_slli_epi16
#define _mm512_slli_epi16 ::ingot::emulated::slli_epi16
#undef _mm512_slli_epi32
#define _mm512_slli_epi32 ::ingot::emulated::slli_epi32
#undef _mm512_sllv_epi32
#define _mm512_sllv_epi32 ::ingot::emulated::sllv_epi32
#undef _mm512_srl_epi32
#define _mm512_srl_epi32 ::ingot::emulated::srl_epi32
#undef _mm512_srli_epi16
#define _mm512_srli_epi16 ::ingot::emulated::srli_epi16
#undef _mm512_storeu_ps
#define _mm512_storeu_ps ::ingot::emulated::storeu_ps
#undef _mm512_storeu_si512
#define _mm512_storeu_si512 ::ingot::emulated::storeu_si512
#undef _mm512_sub_epi32
#define _mm512_sub_epi32 ::ingot::emulated::sub_epi32
#undef _mm512_sub_ps
#define _mm512_sub_ps ::ingot::emulated::sub_ps
#undef _mm512_xor_si512
#define _mm512_xor_si512 ::ingot::emulated::xor_si512
