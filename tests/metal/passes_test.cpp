// The passes' own tests are IR files (passes/*.ll, run by FileCheck); here: each pass has one.
#include <filesystem>

#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

TEST(Passes, EachHasAFileOfIr) {
    const std::vector<std::string> names = the_compiler().pass_names();
    EXPECT_GE(names.size(), 13u);
    for (const std::string& name : names) {
        EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(INGOT_PASS_TESTS) / (name + ".ll")))
            << name;
    }
}

TEST(Passes, AnUnknownOneIsAnError) {
    const auto result = the_compiler().apply_pass("define void @k() {\nret void\n}\n", "magic", {});
    ASSERT_FALSE(result);
    EXPECT_EQ("no pass 'magic'", result.error().describe());
}

TEST(Passes, BrokenIrIsAnErrorWithItsLine) {
    const auto result = the_compiler().apply_pass("define void @k() {\nret i32\n}\n", "optimise", {});
    ASSERT_FALSE(result);
    EXPECT_EQ(0u, result.error().describe().find("line "));
}

}  // namespace
}  // namespace ingot::metal::testing
