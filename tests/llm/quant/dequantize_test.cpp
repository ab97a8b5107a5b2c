// Golden: tools/oracle/make_quant_golden.py (blocks decoded by the gguf Python package). Tolerance: none,
// each value is one product, or a product and a sum, of floats.
#include "llm/quant/golden.h"

namespace ingot {
namespace {

using namespace quant_test;

class Dequantize : public ::testing::TestWithParam<QuantTraits> {};

TEST_P(Dequantize, GivesTheValuesOfTheGgufPackage) {
    const QuantTraits& row = GetParam();
    const std::string golden = read_golden(std::string(row.name) + ".decoded");
    ASSERT_GT(golden.size(), 4u);
    const size_t block_bytes = items_of<uint32_t>(golden.substr(0, 4))[0];
    const std::string blocks = golden.substr(4, block_bytes);
    const auto expected = items_of<float>(golden.substr(4 + block_bytes));
    ASSERT_EQ(storage_size_bytes(row.type, expected.size()), block_bytes);

    // From an odd address: blocks need no alignment.
    std::vector<std::byte> unaligned(block_bytes + 1);
    std::memcpy(unaligned.data() + 1, blocks.data(), block_bytes);
    std::vector<float> values(expected.size());
    row.dequantize(unaligned.data() + 1, values.data(), values.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(expected[i], values[i]) << "element " << i;
}

TEST_P(Dequantize, OfNoElementsTouchesNothing) {
    const std::byte block{1};
    float value = 7.0f;
    GetParam().dequantize(&block, &value, 0);
    EXPECT_EQ(7.0f, value);
}

INSTANTIATE_TEST_SUITE_P(EveryType, Dequantize, every_type(), TypeName());

}  // namespace
}  // namespace ingot
