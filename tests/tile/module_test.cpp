// Several forms of one kernel in one source, and which of them a host gets.
#include <sstream>

#include <gmock/gmock.h>

#include "tile/api/compile.h"
#include "tile/library.h"

namespace ingot::tile::testing {
namespace {

using ::testing::HasSubstr;

std::vector<CompileOptions> direct_and_simdgroup() {
    CompileOptions whole, any, old;
    whole.target = any.target = "metal-m5", old.target = "metal-m1";
    whole.multiples = {{"m", 64}, {"n", 128}, {"k", 16}};
    whole.entry_suffix = "_mpp_whole", any.entry_suffix = "_mpp", old.entry_suffix = "_simdgroup";
    return {whole, any, old};
}

constexpr Device kM5{.apple_family = 10, .metal4 = true, .language = Language::kMetal4_0};
constexpr Device kM1{.apple_family = 7, .metal4 = false, .language = Language::kMetal3_0};
const Sizes kWhole = {{"m", 128}, {"n", 256}, {"k", 64}}, kOdd = {{"m", 100}, {"n", 72}, {"k", 40}};

std::string chosen(const CompiledModule& module, const Device& device, const Sizes& dims) {
    const auto found = module.select(device, dims);
    return found ? (*found)->entry : found.error().message;
}

TEST(Module, TheHostGetsTheFirstVariantThatDeviceAndSizesAllow) {
    const auto module = compile_module(read_kernel("gemm_direct"), direct_and_simdgroup());
    ASSERT_TRUE(module) << module.error().describe();
    EXPECT_EQ(chosen(*module, kM5, kWhole), "gemm_direct_mpp_whole");
    EXPECT_EQ(chosen(*module, kM5, kOdd), "gemm_direct_mpp");
    EXPECT_EQ(chosen(*module, kM1, kWhole), "gemm_direct_simdgroup");
    // A device of the family whose system is too old for Metal 4.
    EXPECT_EQ(chosen(*module, {.apple_family = 10, .metal4 = false, .language = Language::kMetal3_2}, kOdd),
              "gemm_direct_simdgroup");
    EXPECT_EQ(chosen(*module, {.apple_family = 10, .metal4 = true, .language = Language::kMetal3_2}, kOdd),
              "gemm_direct_simdgroup");
}

TEST(Module, ADeviceThatNothingFitsIsToldWhy) {
    const auto options = direct_and_simdgroup();
    const auto module = compile_module(read_kernel("gemm_direct"), std::span(options).first(2));
    ASSERT_TRUE(module) << module.error().describe();
    EXPECT_THAT(chosen(*module, kM1, kOdd), HasSubstr("gemm_direct_mpp: it needs Metal 4"));
    EXPECT_THAT(chosen(*module, kM5, {{"m", 1}}), HasSubstr("dim n has no value"));
}

TEST(Module, OlderCompilersDontSeeWhatNeedsMetal4) {
    const auto module = compile_module(read_kernel("gemm_direct"), direct_and_simdgroup());
    ASSERT_TRUE(module) << module.error().describe();
    std::string old;  // what is left of the source without the conditional parts
    bool skipped = false;
    std::istringstream lines(module->source);
    for (std::string line; std::getline(lines, line);) {
        if (line == "#if __METAL_VERSION__ >= 400") skipped = true;
        if (!skipped) old += line + "\n";
        if (line == "#endif") skipped = false;
    }
    EXPECT_THAT(old, ::testing::Not(HasSubstr("mpp")));
    EXPECT_THAT(old, ::testing::Not(HasSubstr("metal_tensor")));
    EXPECT_THAT(old, HasSubstr("void gemm_direct_simdgroup("));
    EXPECT_THAT(module->source, HasSubstr("void gemm_direct_mpp_whole("));
}

TEST(Module, WholeTilesHaveNoGuardsInTheirVariant) {
    const auto module = compile_module(read_kernel("gemm_direct"), direct_and_simdgroup());
    ASSERT_TRUE(module) << module.error().describe();
    EXPECT_THAT(module->variants[0].source, ::testing::Not(HasSubstr("clamp(")));
    EXPECT_THAT(module->variants[1].source, HasSubstr("clamp("));
}

TEST(Module, VariantsNeedNamesOfTheirOwnAndPromisesOfDims) {
    auto options = direct_and_simdgroup();
    options[1].entry_suffix = options[0].entry_suffix;
    EXPECT_THAT(compile_module(read_kernel("gemm_direct"), options).error().message,
                HasSubstr("two variants are named gemm_direct_mpp_whole"));
    options[0].multiples = {{"q", 4}};
    EXPECT_THAT(compile_module(read_kernel("gemm_direct"), options).error().message, HasSubstr("of 'q'"));
}

TEST(Module, AKernelCompiledForSizesIsNotLaunchedWithOthers) {
    CompileOptions options;
    options.dims = kWhole;
    const auto compiled = compile(read_kernel("gemm"), options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    EXPECT_TRUE(compiled->launch({}));
    EXPECT_TRUE(compiled->launch(kWhole));
    EXPECT_THAT(compiled->launch(kOdd).error().message, HasSubstr("it was compiled for 64"));
}

}  // namespace
}  // namespace ingot::tile::testing
