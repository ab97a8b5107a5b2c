// Every kernel of the library runs on the virtual Metal device and computes what plain loops in double
// compute: for targets with and without cooperative tensors, for each layout of these, at three sizes and
// more.
#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

class OnDevice : public ::testing::TestWithParam<LibraryCase> {};

void expect_right(const LibraryCase& c, std::string_view target) {
    const Kernel k = read_kernel(c.name);
    CompileOptions options;
    options.target = target;
    const auto compiled = compile(k, options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    for (const Sizes& sizes : c.sizes) {
        const Arguments x = arguments_for(k, c, sizes);
        const Results reference = c.reference(x);
        for (const metal::CooperativeLayout layout : layouts_of(*compiled)) {
            const auto results = run_on_device(*compiled, x, layout);
            ASSERT_TRUE(results) << results.error().describe() << "\n" << compiled->source;
            for (const auto& [name, expected] : reference) {
                EXPECT_LE(worst_difference(results->at(name), expected), c.tolerance)
                    << c.name << " " << target << " " << name << " " << sizes.begin()->first << "="
                    << sizes.begin()->second;
            }
        }
    }
}

TEST_P(OnDevice, WithoutCooperativeTensors) {
    expect_right(GetParam(), "metal-m4");
}

TEST_P(OnDevice, WithCooperativeTensorsInEachLayout) {
    expect_right(GetParam(), "metal-m5");
}

INSTANTIATE_TEST_SUITE_P(Kernels, OnDevice, ::testing::ValuesIn(library_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot::tile::testing
