#include "base/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ingot {
namespace {

// The value of a half by the definition of IEEE 754 binary16, in double.
double half_by_definition(uint16_t h) {
    const int exponent = (h >> 10) & 31;
    const int mantissa = h & 1023;
    const double sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    return exponent ? sign * std::ldexp(1024 + mantissa, exponent - 25) : sign * std::ldexp(mantissa, -24);
}

TEST(Half, EveryPatternConvertsToItsDefinition) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const double expected = half_by_definition(uint16_t(bits));
        const float actual = half_to_float(uint16_t(bits));
        if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(actual)) << bits;
        } else {
            EXPECT_EQ(expected, actual) << bits;
            EXPECT_EQ(std::signbit(expected), std::signbit(actual)) << bits;
            EXPECT_EQ(bits, float_to_half(actual)) << bits;
        }
    }
}

TEST(Half, FloatBetweenTwoHalvesRoundsToTheNearerAndTiesToEven) {
    for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
        const double low = half_by_definition(uint16_t(bits));
        const double high = half_by_definition(uint16_t(bits + 1));
        const float middle = float((low + high) / 2);
        EXPECT_EQ(bits + (bits & 1), float_to_half(middle)) << bits;
        EXPECT_EQ(bits, float_to_half(std::nextafterf(middle, 0.0f))) << bits;
        EXPECT_EQ(bits + 1, float_to_half(std::nextafterf(middle, 1e9f))) << bits;
    }
    EXPECT_EQ(0x7BFF, float_to_half(65519.996f));
    EXPECT_EQ(0x7C00, float_to_half(65520.0f));
    EXPECT_EQ(0xFC00, float_to_half(-1e30f));
}

TEST(Bfloat16, RoundsToNearestEvenAndKeepsNan) {
    EXPECT_EQ(0x3F80, float_to_bfloat16(1.0f));
    EXPECT_EQ(0x3F80, float_to_bfloat16(std::bit_cast<float>(0x3F808000u)));
    EXPECT_EQ(0x3F82, float_to_bfloat16(std::bit_cast<float>(0x3F818000u)));
    EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7F800001u)))));
    EXPECT_EQ(0x7F80, float_to_bfloat16(std::numeric_limits<float>::max()));
}

}  // namespace
}  // namespace ingot
