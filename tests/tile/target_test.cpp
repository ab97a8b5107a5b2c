// The tables of targets and language versions, whole: every combination of what a source needs and what a
// target is.
#include "tile/api/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot::tile {
namespace {

TEST(Target, LanguageIsTheLeastThatHasWhatTheSourceNeeds) {
    for (int bits = 0; bits < 8; ++bits) {
        const LanguageNeeds needs{
            .cooperative_tensors = (bits & 1) != 0, .bfloat = (bits & 2) != 0, .logging = (bits & 4) != 0};
        const Language expected = needs.cooperative_tensors ? Language::kMetal4_0
                                  : needs.logging           ? Language::kMetal3_2
                                  : needs.bfloat            ? Language::kMetal3_1
                                                            : Language::kMetal2_3;
        EXPECT_EQ(language_for(needs), expected) << bits;
        for (const Target& t : targets()) {
            const auto checked = check_language(t, needs);
            const bool fits = (!needs.cooperative_tensors || t.metal4) && expected <= t.language;
            EXPECT_EQ(checked.has_value(), fits) << t.name << " " << bits;
            if (fits) {
                EXPECT_EQ(*checked, expected);
            }
        }
    }
}

TEST(Target, OnlyMetal4TargetsSpeakMetal4) {
    for (const Target& t : targets()) {
        EXPECT_EQ(t.metal4, t.language >= Language::kMetal4_0) << t.name;
        EXPECT_TRUE(!t.cooperative_inputs || t.metal4) << t.name;
        EXPECT_EQ(*target_named(t.name), &t);
        EXPECT_EQ(t.simd_width, 32u);
    }
}

}  // namespace
}  // namespace ingot::tile
