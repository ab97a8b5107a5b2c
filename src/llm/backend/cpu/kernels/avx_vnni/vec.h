// AVX-VNNI's form of the vector operations (avx2/vec.h): AVX2 with sums of four byte products in one
// instruction, of unsigned codes up to 255 and without saturation. Processors without AVX-512 have it (Alder
// Lake and later).
#pragma once

#include "llm/backend/cpu/kernels/avx2/vec.h"

namespace ingot::cpu {
namespace {

struct AvxVnni : Avx2 {
    static constexpr const char* kName = "avx-vnni";
    static constexpr bool kSignedBytes = false;
    // Of a quantized tile: twelve sums, two registers of codes, one of activations. A direct one keeps codes
    // of two columns.
    static constexpr uint32_t kTileTokens = 6, kDirectTileTokens = 4;

    template <int kMaxCode>
    struct Dot {
        I sum;

        Dot() = default;
        explicit Dot(I initial) : sum(initial) {}
        void step(I codes, X x) {
            sum.lo = _mm256_dpbusd_avx_epi32(sum.lo, codes.lo, x);
            sum.hi = _mm256_dpbusd_avx_epi32(sum.hi, codes.hi, x);
        }
        I total() const { return sum; }
    };
};

}  // namespace
}  // namespace ingot::cpu
