// The kernels of examples/tile: the interpreter computes what plain loops in double compute, and so it does
// after each pass, for each target.
#include "tile/library.h"

#include "tile/api/compile.h"
#include "tile/ir/print.h"
#include "tile/passes/pipeline.h"

namespace ingot::tile::testing {
namespace {

class Library : public ::testing::TestWithParam<LibraryCase> {};

TEST_P(Library, InterpreterAgreesWithPlainLoops) {
    const Kernel k = read_kernel(GetParam().name);
    for (const Sizes& sizes : GetParam().sizes) {
        const Arguments x = arguments_for(k, GetParam(), sizes);
        const auto result = interpret(k, x);
        ASSERT_TRUE(result) << result.error().describe();
        for (const auto& [name, expected] : GetParam().reference(x)) {
            // The interpreter doesn't round; constants of the programs have 8 digits.
            EXPECT_LE(worst_difference(result->at(name), expected), 1e-6)
                << name << " m=" << sizes.begin()->second;
        }
    }
}

TEST_P(Library, EveryPassKeepsTheMeaning) {
    const Kernel k = read_kernel(GetParam().name);
    const Sizes& sizes = GetParam().sizes[1];
    const Arguments x = arguments_for(k, GetParam(), sizes);
    const auto before = interpret(k, x);
    ASSERT_TRUE(before) << before.error().describe();
    for (const std::string_view target : {"metal-m4", "metal-m5"}) {  // without and with cooperative tensors
        CompileOptions options;
        options.target = target;
        size_t passes = 0;
        options.after_pass = [&](std::string_view pass, const Kernel& now) {
            ++passes;
            const auto after = interpret(now, x);
            ASSERT_TRUE(after) << pass << ": " << after.error().describe() << "\n" << print(now);
            for (const auto& [name, values] : *before)
                EXPECT_LE(worst_difference(after->at(name), values), 1e-9)
                    << pass << " changes " << name << "\n"
                    << print(now);
        };
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        EXPECT_EQ(passes, pass_list().size());
    }
}

TEST_P(Library, TextRoundTrips) {
    const Kernel k = read_kernel(GetParam().name);
    const auto again = parse(print(k), "again.tile");
    ASSERT_TRUE(again) << again.error().describe();
    EXPECT_TRUE(same_program(k, *again));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Library, ::testing::ValuesIn(library_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot::tile::testing
