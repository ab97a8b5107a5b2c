// Products in the interpreter: the peer's programs mean what loops compute, and keep it through every pass.
#include "tile/api/compile.h"
#include "tile/gemm_program.h"
#include "tile/ir/print.h"

namespace ingot::tile::testing {
namespace {

class Gemm : public ::testing::TestWithParam<GemmSpec> {};

TEST_P(Gemm, MeansWhatLoopsComputeAfterEachPass) {
    const GemmSpec& g = GetParam();
    const Kernel k = gemm_kernel(g);
    const Arguments x = gemm_arguments(g);
    const std::vector<double> expected = gemm_reference(g, x);
    CompileOptions options;
    options.target = g.metal4 ? "metal-m5" : "metal-m4";
    options.after_pass = [&](std::string_view pass, const Kernel& now) {
        if (pass != "insert-barriers")
            return;  // the last one that changes the program; the library's kernels test each
        const auto after = interpret(now, x);
        ASSERT_TRUE(after) << after.error().describe() << "\n" << print(now);
        EXPECT_LE(worst_difference(after->at("C"), expected), 1e-9) << print(now);
    };
    const auto compiled = compile(k, options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
}

INSTANTIATE_TEST_SUITE_P(Peer, Gemm, ::testing::ValuesIn(peer_gemms()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot::tile::testing
