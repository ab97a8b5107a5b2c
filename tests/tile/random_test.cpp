// Random programs: the text form round-trips, and no pass changes what a program computes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tile/api/compile.h"
#include "tile/ir/print.h"
#include "tile/library.h"
#include "tile/random_program.h"

namespace ingot::tile::testing {
namespace {

RandomProgram drawn() {
    return random_program([](int n) { return *rc::gen::inRange(0, n); });
}

RC_GTEST_PROP(RandomPrograms, ReadBackAsTheyWere, ()) {
    const RandomProgram p = drawn();
    const auto again = parse(print(p.kernel), "again.tile");
    RC_ASSERT(again.has_value());
    RC_ASSERT(same_program(p.kernel, *again));
}

RC_GTEST_PROP(RandomPrograms, MeanTheSameAfterEachPass, ()) {
    const RandomProgram p = drawn();
    const bool whole = *rc::gen::arbitrary<bool>();  // compiled for these sizes: more can be proved
    const auto before = interpret(p.kernel, p.arguments);
    if (!before) RC_FAIL(before.error().describe() + "\n" + print(p.kernel));
    double size = 1;
    for (const double v : before->at("Y")) size = std::max(size, std::abs(v));
    for (const std::string_view target : {"metal-m4", "metal-m5"}) {
        CompileOptions options;
        options.target = target;
        if (whole) options.dims = p.arguments.dims;
        options.after_pass = [&](std::string_view pass, const Kernel& now) {
            const auto after = interpret(now, p.arguments);
            if (!after) RC_FAIL(std::string(pass) + ": " + after.error().describe() + "\n" + print(now));
            if (worst_difference(before->at("Y"), after->at("Y")) > 1e-9 * size)
                RC_FAIL(std::string(pass) + "\n" + print(p.kernel) + "\n" + print(now));
        };
        const auto compiled = compile(p.kernel, options);
        if (!compiled) RC_FAIL(compiled.error().describe() + "\n" + print(p.kernel));
    }
}

}  // namespace
}  // namespace ingot::tile::testing
