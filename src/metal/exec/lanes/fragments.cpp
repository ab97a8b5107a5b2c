// Lane l holds of a fragment the elements (r + 8 * (i >> 2), c + (i & 3)), where bits 4, 2 and 1 of l make r
// and bits 3 and 0 make c, in steps of 4. So an octet of lanes (8 floats) of element i is four rows of two
// columns that lie 4 apart, two neighbouring lanes a row. Step k of the product repeats one lane of each pair
// of the left operand's octet, and broadcasts two neighbouring floats of the right one: nothing is shuffled.
#include "metal/exec/lanes/fragments.h"

#include <cstring>

#include "metal/exec/lanes/vectors.h"

namespace {

using ingot::metal::lanes::kLanes;
using ingot::metal::lanes::kOctet;
using ingot::metal::lanes::Octet;
using ingot::metal::lanes::Pairs;
using ingot::metal::lanes::repeat_in_pairs;

constexpr uint32_t kFragment = 16, kFloats = kFragment * kFragment;
constexpr uint32_t kMostTransposed = 4;  // fragments

// Element 4 * below + step of the octet of rows 4 * lower... and columns 8 * right...
constexpr uint32_t octet_at(uint32_t below, uint32_t step, uint32_t lower, uint32_t right) {
    return (4 * below + step) * kLanes + 16 * lower + kOctet * right;
}

[[gnu::always_inline]] inline void repeat_pair(const float* pair, Octet& out) {
    double both;
    std::memcpy(&both, pair, sizeof both);
    out = (Octet)(Pairs{both, both, both, both});
}

[[gnu::always_inline]] inline void transpose(Octet (&x)[8]) {
    Octet y[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        y[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        y[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
        const int i = j / 2 * 4 + j % 2;
        x[i] = __builtin_shufflevector(y[i], y[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        x[i + 2] = __builtin_shufflevector(y[i], y[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        y[i] = __builtin_shufflevector(x[i], x[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[i + 4] = __builtin_shufflevector(x[i], x[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) x[i] = y[i];
}

// A fragment's rows become its columns. Row 4 * b + s of an 8 x 8 block lies in element s, octet b of two;
// column 4 * b + s in element s, lane b of two: four transpositions of 8 octets.
INGOT_METAL_VECTOR_CLONES void transpose_fragments(float* out, const float* from, uint32_t rows,
                                                   uint32_t columns) {
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t column = 0; column < columns; ++column, from += kFloats) {
            float* to = out + (column * rows + row) * kFloats;
            for (uint32_t block = 0; block < 4; ++block) {
                const uint32_t i = block / 2, j = block % 2;
                Octet x[8];
#pragma GCC unroll 8
                for (uint32_t line = 0; line < 8; ++line)
                    x[line] = *reinterpret_cast<const Octet*>(from + octet_at(i, line / 2, line % 2, j));
                transpose(x);
#pragma GCC unroll 8
                for (uint32_t line = 0; line < 8; ++line)
                    *reinterpret_cast<Octet*>(to + octet_at(j, line / 2, line % 2, i)) = x[line];
            }
        }
    }
}

// Two columns of 8 x 2 of the product stay in registers for all of k.
[[gnu::always_inline]] inline void multiply_part(float* out, const float* a, const float* b, const float* c,
                                                 uint32_t n, uint32_t k, uint32_t step, uint32_t right) {
    Octet sums[2][2][2];
#pragma GCC unroll 2
    for (uint32_t below = 0; below < 2; ++below) {
#pragma GCC unroll 2
        for (uint32_t lower = 0; lower < 2; ++lower) {
            sums[below][lower][0] = *reinterpret_cast<const Octet*>(c + octet_at(below, step, lower, right));
            sums[below][lower][1] =
                *reinterpret_cast<const Octet*>(c + octet_at(below, step + 1, lower, right));
        }
    }
    for (uint32_t p = 0; p < k; ++p, a += kFloats, b += size_t{n} * kFloats) {
#pragma GCC unroll 16
        for (uint32_t q = 0; q < kFragment; ++q) {
            const uint32_t half = q >> 3, four = (q >> 2) & 1, one = q & 3;
            Octet first, second;
            repeat_pair(b + octet_at(half, step, four, right) + 2 * one, first);
            repeat_pair(b + octet_at(half, step + 1, four, right) + 2 * one, second);
#pragma GCC unroll 2
            for (uint32_t below = 0; below < 2; ++below) {
#pragma GCC unroll 2
                for (uint32_t lower = 0; lower < 2; ++lower) {
                    Octet rows;
                    repeat_in_pairs(*reinterpret_cast<const Octet*>(a + octet_at(below, one, lower, half)),
                                    four != 0, rows);
                    sums[below][lower][0] += rows * first;
                    sums[below][lower][1] += rows * second;
                }
            }
        }
    }
#pragma GCC unroll 2
    for (uint32_t below = 0; below < 2; ++below) {
#pragma GCC unroll 2
        for (uint32_t lower = 0; lower < 2; ++lower) {
            *reinterpret_cast<Octet*>(out + octet_at(below, step, lower, right)) = sums[below][lower][0];
            *reinterpret_cast<Octet*>(out + octet_at(below, step + 1, lower, right)) = sums[below][lower][1];
        }
    }
}

INGOT_METAL_VECTOR_CLONES void multiply_fragments(float* out, const float* a, const float* b, const float* c,
                                                  uint32_t m, uint32_t n, uint32_t k) {
    for (uint32_t row = 0; row < m; ++row) {
        for (uint32_t column = 0; column < n; ++column) {
            const size_t at = (size_t{row} * n + column) * kFloats;
            for (uint32_t part = 0; part < 4; ++part) {
                multiply_part(out + at, a + size_t{row} * k * kFloats, b + size_t{column} * kFloats, c + at,
                              n, k, part / 2 * 2, part % 2);
            }
        }
    }
}

}  // namespace

extern "C" void ingot_lanes_multiply_fragments(float* out, const float* a, const float* b, const float* c,
                                               uint32_t m, uint32_t n, uint32_t k, uint32_t transposed) {
    alignas(32) float left[kMostTransposed * kFloats], right[kMostTransposed * kFloats];
    if ((transposed & 1) != 0) {
        transpose_fragments(left, a, k, m);
        a = left;
    }
    if ((transposed & 2) != 0) {
        transpose_fragments(right, b, n, k);
        b = right;
    }
    multiply_fragments(out, a, b, c, m, n, k);
}
