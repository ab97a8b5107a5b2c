// Golden: tools/oracle/make_quantize_golden.py (rows encoded by ggml). Byte for byte.
#include <algorithm>
#include <cmath>

#include "llm/quant/golden.h"

namespace ingot {
namespace {

using namespace quant_test;

class Quantize : public ::testing::TestWithParam<QuantTraits> {
  protected:
    std::vector<std::byte> encode(const std::vector<float>& values) const {
        const auto size_bytes = storage_size_bytes(GetParam().type, values.size());
        // Whatever was in the blocks before must not show.
        std::vector<std::byte> blocks(size_bytes.value(), std::byte(0xA5));
        GetParam().quantize(values.data(), blocks.data(), values.size());
        return blocks;
    }

    std::vector<float> decode(const std::vector<std::byte>& blocks, size_t count) const {
        std::vector<float> values(count);
        GetParam().dequantize(blocks.data(), values.data(), count);
        return values;
    }
};

TEST_P(Quantize, GivesTheBytesOfGgml) {
    const std::vector<float> rows = golden_rows();
    const std::vector<std::byte> blocks = encode(rows);
    const bool stored_as_they_are = GetParam().type == QuantType::kF32;
    const auto expected =
        read_golden(stored_as_they_are ? "rows.f32" : std::string(GetParam().name) + ".encoded");
    ASSERT_EQ(expected.size(), blocks.size());
    const size_t row_bytes = storage_size_bytes(GetParam().type, kRowLength).value();
    for (size_t i = 0; i < blocks.size(); ++i) {
        ASSERT_EQ(uint8_t(expected[i]), uint8_t(blocks[i]))
            << "row " << i / row_bytes << ", byte " << i % row_bytes % GetParam().block_size_bytes
            << " of block " << i % row_bytes / GetParam().block_size_bytes;
    }
}

TEST_P(Quantize, ZerosStayZeros) {
    const std::vector<float> zeros(kRowLength, 0.0f);
    for (const float value : decode(encode(zeros), kRowLength)) EXPECT_EQ(0.0f, value);
}

// Bound: a code of b bits can't miss by more than the range of its group divided by 2^b - 2, plus the error
// of the rounded scales (1/8 of the range is generous even to two bits, whose scales have four).
TEST_P(Quantize, ARampComesBackWithinItsResolution) {
    std::vector<float> ramp(kRowLength);
    for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = float(i) / 128.0f - 1.0f;
    const double bits = 8.0 * GetParam().block_size_bytes / GetParam().block_size;
    const double bound = 2.0 / (std::exp2(std::floor(bits)) - 2) + 0.125;
    const std::vector<float> back = decode(encode(ramp), kRowLength);
    for (size_t i = 0; i < ramp.size(); ++i) EXPECT_NEAR(ramp[i], back[i], bound) << "element " << i;
}

// The file writer relies on this: a scale that overflows a half shows as values that aren't finite. BF16 and
// MXFP4 have the exponent of a float.
TEST_P(Quantize, AScaleThatOverflowsShowsAsValuesThatAreNotFinite) {
    std::vector<float> huge(kRowLength, 1e10f);
    huge[0] = -1e10f;
    const std::vector<float> back = decode(encode(huge), kRowLength);
    const bool finite = std::ranges::all_of(back, [](float value) { return std::isfinite(value); });
    const QuantType type = GetParam().type;
    const bool holds = type == QuantType::kF32 || type == QuantType::kBF16 || type == QuantType::kMXFP4;
    EXPECT_EQ(holds, finite);
}

// Where the exponent of the scale would be -1, whose byte stands for NaN.
TEST(QuantizeMxfp4, ValuesNearTheSmallestNormalFloatKeepAScaleThatIsANumber) {
    const QuantTraits& type = traits(QuantType::kMXFP4);
    std::vector<float> tiny(32, 0x1p-126f), back(32);
    std::vector<std::byte> block(type.block_size_bytes);
    type.quantize(tiny.data(), block.data(), 32);
    EXPECT_EQ(0, int(block[0]));
    type.dequantize(block.data(), back.data(), 32);
    EXPECT_EQ(tiny, back);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Quantize, every_type(), TypeName());

}  // namespace
}  // namespace ingot
