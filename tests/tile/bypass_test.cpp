// Staging that only moves an operand goes; staging that means more stays, with its reason.
#include <gmock/gmock.h>

#include "tile/api/compile.h"
#include "tile/ir/print.h"
#include "tile/library.h"
#include "tile/peer_programs.h"

namespace ingot::tile::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kStagedProduct = R"(kernel staged {
  dim m multiple_of 64, n multiple_of 64, k multiple_of 32
  in A: f16[m, k]
  in B: f16[k, n]
  inout D: f16[m, k]
  out C: f32[m, n]
  grid bx < ceildiv(n, 64), by < ceildiv(m, 64)
  shared As: f16[64, 32]
  shared Bs: f16[32, 64]
  shared Ct: f32[64, 64]
  fill Ct = 0.0
  for step < ceildiv(k, 32) {
    copy As = A[by * 64 : 64, step * 32 : 32]
    copy Bs = B[step * 32 : 32, bx * 64 : 64]
    gemm Ct += As @ Bs
  }
  copy C[by * 64 : 64, bx * 64 : 64] = Ct
}
)";

CompiledKernel compiled_for(std::string_view target, const std::string& text) {
    CompileOptions options;
    options.target = target;
    const Kernel k = kernel_of(text, "staged");
    const Arguments x = [&] {
        Arguments out;
        out.dims = {{"m", 128}, {"n", 64}, {"k", 96}};
        for (const BufferId b : k.tensors())
            if (k[b].role != Role::kOut)
                out.tensors[k[b].name] = numbers(*tensor_elements(k, b, out.dims), k[b].type, b.index() + 1);
        return out;
    }();
    const auto before = interpret(k, x);
    EXPECT_TRUE(before) << before.error().describe();
    options.after_pass = [&](std::string_view pass, const Kernel& now) {
        const auto after = interpret(now, x);
        ASSERT_TRUE(after) << pass << ": " << after.error().describe() << "\n" << print(now);
        EXPECT_LE(worst_difference(before->at("C"), after->at("C")), 1e-9) << pass << "\n" << print(now);
    };
    const auto compiled = compile(k, options);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    return *compiled;
}

std::string changed(const std::string& from, const std::string& to) {
    std::string text(kStagedProduct);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Bypass, PureStagingBecomesOneProductOfTensors) {
    const CompiledKernel c = compiled_for("metal-m5", std::string(kStagedProduct));
    ASSERT_EQ(c.plan.gemms.size(), 1u);
    EXPECT_EQ(c.plan.gemms.begin()->second.path, Path::kDirectCooperative);
    EXPECT_THAT(c.source, Not(HasSubstr("As")));
    EXPECT_THAT(c.source, Not(HasSubstr("for (int step")));
    EXPECT_LE(c.threadgroup_bytes, 64 * 68 * 4);  // C's tile alone, its rows padded
    EXPECT_THAT(c.explain(),
                HasSubstr("As and Bs only staged its operands: they are read where they come from"));
    EXPECT_THAT(c.explain(), HasSubstr("the loop over K is one product"));
}

TEST(Bypass, ZerosPastTheEndOfBothOperandsAreLeftOut) {
    const CompiledKernel c = compiled_for("metal-m5", changed("k multiple_of 32", "k"));
    EXPECT_EQ(c.plan.gemms.begin()->second.path, Path::kDirectCooperative);
    EXPECT_THAT(c.explain(), HasSubstr("the loop over K is one product"));
}

TEST(Bypass, TransposedOperandsAreFollowedThroughTheirTiles) {
    std::string text = changed("in A: f16[m, k]", "in A: f16[k, m]");
    const auto replace = [&](std::string_view from, std::string_view to) {
        const size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
    };
    replace("shared As: f16[64, 32]", "shared As: f16[32, 64]");
    replace("A[by * 64 : 64, step * 32 : 32]", "A[step * 32 : 32, by * 64 : 64]");
    replace("As @ Bs", "As^T @ Bs");
    const CompiledKernel c = compiled_for("metal-m5", text);
    EXPECT_EQ(c.plan.gemms.begin()->second.path, Path::kDirectCooperative);
    EXPECT_THAT(c.explain(), HasSubstr("the loop over K is one product"));
}

TEST(Bypass, APathThatIsAskedForKeepsItsStaging) {
    CompileOptions options;
    options.target = "metal-m5";
    options.path = Path::kSharedCooperative;
    const auto c = compile(kernel_of(std::string(kStagedProduct), "staged"), options);
    ASSERT_TRUE(c) << c.error().describe();
    EXPECT_EQ(c->plan.gemms.begin()->second.path, Path::kSharedCooperative);
}

struct Kept {
    const char *name, *from, *to, *reason;
};

void PrintTo(const Kept& k, std::ostream* out) {
    *out << k.name;
}

class KeptStaging : public ::testing::TestWithParam<Kept> {};

TEST_P(KeptStaging, SaysWhy) {
    const CompiledKernel c = compiled_for("metal-m5", changed(GetParam().from, GetParam().to));
    EXPECT_EQ(c.plan.gemms.begin()->second.path, Path::kSharedCooperative);
    EXPECT_THAT(c.explain(), HasSubstr(GetParam().reason));
}

constexpr Kept kKept[] = {
    {"EdgeFill", "dim m multiple_of 64", "dim m",
     "As stays staged: its copy fills in what lies past the edge of A"},
    {"LayoutTransform", "copy As = A[by * 64 : 64, step * 32 : 32]",
     "parallel i < 64, j < 32 {\n As[i, j] = A[by * 64 + i, step * 32 + (j ^ 1)]\n }",
     "As stays staged: a loop writes its elements: another layout, or other values, than a tensor has"},
    {"Conversion", "in A: f16[m, k]", "in A: f32[m, k]", "As stays staged: its copy converts f32 to f16"},
    {"Padding", "copy As = A[by * 64 : 64, step * 32 : 32]",
     "fill As = f16(0)\n copy As[0 : 60, :] = A[by * 64 : 60, step * 32 : 32]",
     "As stays staged: several statements write it"},
    {"SeveralConsumers", "gemm Ct += As @ Bs",
     "gemm Ct += As @ Bs\n parallel i < 64, j < 32 {\n Ct[i, j] = Ct[i, j] + f32(As[i, j])\n }",
     "As stays staged: several statements read it"},
    {"Communication", "copy As = A[by * 64 : 64, step * 32 : 32]",
     "copy As = D[by * 64 : 64, step * 32 : 32]", "As stays staged: D may be written"},
    {"CopiedOnceForSeveralSteps",
     "for step < ceildiv(k, 32) {\n    copy As = A[by * 64 : 64, step * 32 : 32]",
     "copy As = A[by * 64 : 64, 0 : 32]\n  for step < ceildiv(k, 32) {",
     "As stays staged: it is copied once for several steps"},
};

INSTANTIATE_TEST_SUITE_P(Reasons, KeptStaging, ::testing::ValuesIn(kKept),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Bypass, WithoutCooperativeTensorsStagingStays) {
    const CompiledKernel c = compiled_for("metal-m4", std::string(kStagedProduct));
    EXPECT_EQ(c.plan.gemms.begin()->second.path, Path::kSimdgroup);
    EXPECT_THAT(c.explain(), HasSubstr("the operands stay staged: metal-m4 isn't a metal4 target"));
}

}  // namespace
}  // namespace ingot::tile::testing
