// AVX-VNNI's one instruction as a scalar loop, under the compiler's own name, so that the kernels' source
// compiles for and is tested on machines without it. Written from Intel's description. All else comes from
// the real header.
#pragma once

#include <cstdint>
#include <cstring>

#include_next <immintrin.h>

namespace ingot::emulated {

// Adds to each 32-bit lane its four products of an unsigned byte of a and a signed byte of b.
inline __attribute__((noinline)) __m256i dpbusd(__m256i sum, __m256i a, __m256i b) {
    int32_t lanes[8];
    uint8_t codes[32];
    int8_t factors[32];
    std::memcpy(lanes, &sum, 32);
    std::memcpy(codes, &a, 32);
    std::memcpy(factors, &b, 32);
    for (int i = 0; i < 32; ++i) lanes[i / 4] += int32_t(codes[i]) * factors[i];
    std::memcpy(&sum, lanes, 32);
    return sum;
}

}  // namespace ingot::emulated

#define _mm256_dpbusd_avx_epi32 ::ingot::emulated::dpbusd
