// The peer's programs that are more than a product, on the virtual Metal device; and what each of its known
// mistakes would show in the emitted source.
#include <gmock/gmock.h>

#include "tile/peer_programs.h"
#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

class PeerOnDevice : public ::testing::TestWithParam<PeerCase> {};

TEST_P(PeerOnDevice, IsRight) {
    const PeerProgram p = GetParam().make();
    CompileOptions options;
    options.target = p.metal4 ? "metal-m5" : "metal-m4";
    const auto compiled = compile(kernel_of(p.text, p.name), options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    for (const metal::CooperativeLayout layout : layouts_of(*compiled)) {
        const auto results = run_on_device(*compiled, p.arguments, layout);
        ASSERT_TRUE(results) << results.error().describe() << "\n" << compiled->source;
        for (const auto& [name, expected] : p.expected)
            EXPECT_LE(worst_difference(results->at(name), expected), p.tolerance) << name << "\n"
                                                                                  << compiled->source;
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, PeerOnDevice, ::testing::ValuesIn(peer_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot::tile::testing
