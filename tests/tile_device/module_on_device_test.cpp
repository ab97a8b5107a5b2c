// A module of several variants compiles for old and new languages, and every variant that a host can get is
// right.
#include <algorithm>

#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

TEST(ModuleOnDevice, EveryVariantThatCanBeChosenIsRight) {
    const Kernel k = read_kernel("gemm_direct");
    CompileOptions whole, any, old;
    whole.target = any.target = "metal-m5", old.target = "metal-m1";
    whole.multiples = {{"m", 64}, {"n", 128}, {"k", 16}};
    whole.entry_suffix = "_whole", any.entry_suffix = "_any", old.entry_suffix = "_old";
    const auto module = compile_module(k, std::array{whole, any, old});
    ASSERT_TRUE(module) << module.error().describe();

    const auto cases = library_cases();
    const auto c = std::ranges::find(cases, "gemm_direct", &LibraryCase::name);
    ASSERT_NE(c, cases.end());
    const Sizes sizes[] = {{{"m", 64}, {"n", 128}, {"k", 32}}, {{"m", 33}, {"n", 35}, {"k", 37}}};
    for (const Device& device :
         {Device{10, true, Language::kMetal4_0}, Device{8, false, Language::kMetal3_1}}) {
        for (const Sizes& dims : sizes) {
            const auto chosen = module->select(device, dims);
            ASSERT_TRUE(chosen) << chosen.error().describe();
            CompiledKernel variant = **chosen;
            variant.source = module->source;  // as the host compiles it, for its own language
            variant.language = device.language;
            const Arguments x = arguments_for(k, *c, dims);
            const auto results = run_on_device(variant, x);
            ASSERT_TRUE(results) << results.error().describe() << "\n" << module->source;
            EXPECT_LE(worst_difference(results->at("C"), c->reference(x).at("C")), c->tolerance)
                << variant.entry << " " << dims.at("m");
        }
    }
}

}  // namespace
}  // namespace ingot::tile::testing
