// A lane octet holds a quarter of a matrix: octet 0 rows 0-3 of columns 0-3, octet 1 columns 4-7, octets 2
// and 3 the rows below; two neighbouring lanes share a row. So step k of the product repeats lane pairs of
// the left matrix within a register and broadcasts one lane pair of the right one.
#include "metal/exec/lanes/matrix.h"

#include <cstring>

#include "metal/exec/lanes/vectors.h"

namespace {

constexpr int kSide = 8;

using ingot::metal::lanes::kLanes;
using ingot::metal::lanes::kOctet;
using ingot::metal::lanes::Octet;
using ingot::metal::lanes::Pairs;
using ingot::metal::lanes::repeat_in_pairs;

}  // namespace

extern "C" INGOT_METAL_VECTOR_CLONES void ingot_lanes_multiply(float* out, const float* a, const float* b,
                                                               const float* c) {
    const Octet* left = reinterpret_cast<const Octet*>(a);
    const Octet* before = reinterpret_cast<const Octet*>(c);
    Octet* after = reinterpret_cast<Octet*>(out);
    // [element of the pair][octet]
    Octet sum00 = before[0], sum01 = before[1], sum02 = before[2], sum03 = before[3];
    Octet sum10 = before[4], sum11 = before[5], sum12 = before[6], sum13 = before[7];
#pragma GCC unroll 8
    for (int k = 0; k < kSide; ++k) {
        // Columns 0-3 of the left matrix lie in octets 0 and 2, the others in 1 and 3; the pair's first or
        // second lane goes to both.
        const bool second = k % 4 / 2 != 0;
        Octet upper, lower;
        repeat_in_pairs(left[k % 2 * 4 + k / 4], second, upper);
        repeat_in_pairs(left[k % 2 * 4 + k / 4 + 2], second, lower);
        // Rows 0-3 of the right matrix lie in octets 0 and 1.
        const float* row = b + k / 4 * 2 * kOctet + k % 4 * 2;
        double pairs[4];
        std::memcpy(&pairs[0], row, 8);
        std::memcpy(&pairs[1], row + kOctet, 8);
        std::memcpy(&pairs[2], row + kLanes, 8);
        std::memcpy(&pairs[3], row + kLanes + kOctet, 8);
        const Octet first_low = (Octet)(Pairs{pairs[0], pairs[0], pairs[0], pairs[0]});
        const Octet first_high = (Octet)(Pairs{pairs[1], pairs[1], pairs[1], pairs[1]});
        const Octet second_low = (Octet)(Pairs{pairs[2], pairs[2], pairs[2], pairs[2]});
        const Octet second_high = (Octet)(Pairs{pairs[3], pairs[3], pairs[3], pairs[3]});
        sum00 += upper * first_low;
        sum01 += upper * first_high;
        sum02 += lower * first_low;
        sum03 += lower * first_high;
        sum10 += upper * second_low;
        sum11 += upper * second_high;
        sum12 += lower * second_low;
        sum13 += lower * second_high;
    }
    after[0] = sum00;
    after[1] = sum01;
    after[2] = sum02;
    after[3] = sum03;
    after[4] = sum10;
    after[5] = sum11;
    after[6] = sum12;
    after[7] = sum13;
}
