// Vectors of the runtime that products of the vector executor run on.
#pragma once

#include <cstdint>

// The loader picks the form for this machine. A clone is one function: helpers are always inlined and take
// vectors by reference, for without AVX there is no way to hand them over.
#if defined(__x86_64__) && !defined(__clang__)
#define INGOT_METAL_VECTOR_CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#else
#define INGOT_METAL_VECTOR_CLONES
#endif

namespace ingot::metal::lanes {

constexpr uint32_t kLanes = 32, kOctet = 8;

typedef float Octet __attribute__((vector_size(32)));
typedef double Pairs __attribute__((vector_size(32)));

// Each pair's first or second element in both of its places.
[[gnu::always_inline]] inline void repeat_in_pairs(const Octet& x, bool second, Octet& out) {
    out = second ? __builtin_shufflevector(x, x, 1, 1, 3, 3, 5, 5, 7, 7)
                 : __builtin_shufflevector(x, x, 0, 0, 2, 2, 4, 4, 6, 6);
}

}  // namespace ingot::metal::lanes
