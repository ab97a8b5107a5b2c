// The peer's programs that are more than a product, in the interpreter: they mean what loops compute, and
// keep it through every pass. tests/tile_device runs what is emitted for them.
#include <algorithm>

#include "tile/api/compile.h"
#include "tile/gemm_program.h"
#include "tile/ir/print.h"
#include "tile/peer_programs.h"

namespace ingot::tile::testing {
namespace {

class Peer : public ::testing::TestWithParam<PeerCase> {};

TEST_P(Peer, MeansWhatLoopsComputeAfterEachPass) {
    const PeerProgram p = GetParam().make();
    const Kernel k = kernel_of(p.text, p.name);
    const auto check = [&](std::string_view when, const Kernel& now) {
        const auto result = interpret(now, p.arguments);
        ASSERT_TRUE(result) << when << ": " << result.error().describe() << "\n" << print(now);
        for (const auto& [name, expected] : p.expected)
            EXPECT_LE(worst_difference(result->at(name), expected), 1e-6) << when << " " << name;
    };
    check("as written", k);
    for (const std::string_view target : {"metal-m4", "metal-m5"}) {
        CompileOptions options;
        options.target = target;
        options.after_pass = check;
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, Peer, ::testing::ValuesIn(peer_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(PeerSet, EveryProgramHasACounterpart) {
    std::vector<std::string> ours;
    for (const PeerCase& c : peer_cases()) {
        ours.push_back(c.name);
        EXPECT_EQ(c.make().name, c.name);
    }
    for (const GemmSpec& g : peer_gemms()) ours.push_back(g.name);
    for (const std::string_view name : peer_names()) EXPECT_EQ(std::ranges::count(ours, name), 1) << name;
    EXPECT_EQ(peer_names().size(), 74u);
}

}  // namespace
}  // namespace ingot::tile::testing
