// Random programs on the virtual Metal device: what is emitted computes what the interpreter says the program
// means.
#include <random>

#include "tile/ir/print.h"
#include "tile/random_program.h"
#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

class RandomOnDevice : public ::testing::TestWithParam<int> {};

TEST_P(RandomOnDevice, ComputesWhatItMeans) {
    std::mt19937 generator(static_cast<uint32_t>(GetParam()));
    const RandomProgram p = random_program([&](int n) { return int(generator() % uint32_t(n)); });
    const auto expected = interpret(p.kernel, p.arguments);
    ASSERT_TRUE(expected) << expected.error().describe() << "\n" << print(p.kernel);
    double size = 1;
    for (const double v : expected->at("Y")) size = std::max(size, std::abs(v));
    CompileOptions options;
    options.target = GetParam() % 2 == 0 ? "metal-m4" : "metal-m5";
    if (GetParam() % 3 == 0) options.dims = p.arguments.dims;
    const auto compiled = compile(p.kernel, options);
    ASSERT_TRUE(compiled) << compiled.error().describe() << "\n" << print(p.kernel);
    const auto results = run_on_device(*compiled, p.arguments, metal::CooperativeLayout::kScrambled);
    ASSERT_TRUE(results) << results.error().describe() << "\n" << print(p.kernel) << compiled->source;
    // Tiles of halves are rounded, and everything that follows from them.
    EXPECT_LE(worst_difference(results->at("Y"), expected->at("Y")), 4e-3 * size)
        << print(p.kernel) << compiled->source;
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomOnDevice, ::testing::Range(0, 40));

}  // namespace
}  // namespace ingot::tile::testing
