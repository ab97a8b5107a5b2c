// Each realization: done where its proof holds, refused with the reason where it doesn't, the same meaning
// either way; and the figures that follow from them.
#include <algorithm>

#include <gmock/gmock.h>

#include "tile/ir/print.h"
#include "tile/peer_programs.h"
#include "tile/plan/figure.h"
#include "tile/plan/realizations.h"

namespace ingot::tile::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Arguments arguments_of_realization(const Kernel& k) {
    Arguments x;
    uint32_t seed = 5;
    for (const BufferId b : k.tensors())
        if (k[b].role != Role::kOut)
            x.tensors[k[b].name] = numbers(*tensor_elements(k, b, {}), k[b].type, seed++);
    return x;
}

CompiledKernel realized(const RealizationCase& c, bool on) {
    CompileOptions options;
    options.target = c.target;
    options.planner.*c.option = on;
    auto compiled = compile(kernel_of(c.text, "r"), options);
    EXPECT_TRUE(compiled) << compiled.error().describe() << "\n" << c.text;
    return compiled.value_or(CompiledKernel{});
}

class Realizations : public ::testing::TestWithParam<RealizationCase> {};

TEST_P(Realizations, AreDoneOrRefusedForAReasonAndKeepTheMeaning) {
    const RealizationCase& c = GetParam();
    const Kernel k = kernel_of(c.text, "r");
    const Arguments x = arguments_of_realization(k);
    const auto before = interpret(k, x);
    ASSERT_TRUE(before) << before.error().describe();
    for (const bool on : {true, false}) {
        const CompiledKernel compiled = realized(c, on);
        const auto after = interpret(compiled.kernel, x);
        ASSERT_TRUE(after) << after.error().describe() << print(compiled.kernel);
        for (const auto& [name, values] : *before)
            EXPECT_LE(worst_difference(after->at(name), values), 1e-9) << name << "\n"
                                                                       << print(compiled.kernel);
        const std::string text = compiled.explain();
        if (on) {
            EXPECT_THAT(text, HasSubstr(c.noted)) << print(compiled.kernel);
            EXPECT_THAT(text, HasSubstr(c.refused)) << print(compiled.kernel);
        } else if (!c.noted.empty() && c.option != &PlannerOptions::elide_independent_subgroup_barriers) {
            EXPECT_THAT(text, Not(HasSubstr(c.noted)));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, Realizations, ::testing::ValuesIn(realization_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Epilogues, ReleaseTheTilesThatTheyGoThrough) {
    const std::vector<RealizationCase> cases = epilogue_cases();
    const RealizationCase gelu = *std::ranges::find(cases, "fused_tanh_gelu", &RealizationCase::name);
    const CompiledKernel off = realized(gelu, false), on = realized(gelu, true);
    // Cs and Ds, 32 x 32 floats each.
    EXPECT_GE(off.threadgroup_bytes - on.threadgroup_bytes, 4096);
    EXPECT_EQ(on.group_plan.products.at(0).chosen.accumulator, Accumulator::kDirect);
    EXPECT_EQ(off.group_plan.products.at(0).chosen.accumulator, Accumulator::kResident);
    EXPECT_THAT(on.source, Not(HasSubstr("threadgroup float Ds")));
}

TEST(Overwriting, AsksForAProductThatAddsNothingOnlyForOneStepFromZero) {
    const std::vector<RealizationCase> cases = overwrite_cases();
    for (const RealizationCase& c : cases) {
        const std::string source = realized(c, true).source;
        const bool overwrites = c.name.starts_with("overwrites");
        EXPECT_EQ(source.find("mode::multiply)") != std::string::npos, overwrites) << c.name << source;
        EXPECT_THAT(realized(c, false).source, HasSubstr("mode::multiply_accumulate)"));
    }
    // Two operations of 16: the second adds to the first.
    const RealizationCase two{"",
                              "metal-m5",
                              &PlannerOptions::overwrite_accumulators,
                              overwritten("0.0", "  gemm C += A @ B\n", "32"),
                              "",
                              ""};
    EXPECT_THAT(realized(two, true).source, HasSubstr("mode::multiply_accumulate)"));
    EXPECT_EQ(realized(two, true).group_plan.products.at(0).priced.features.initializations, 16);
    EXPECT_EQ(realized(cases.at(0), true).group_plan.products.at(0).priced.features.initializations, 0);
}

TEST(Admission, CountsTheProductsThatWereElementLoops) {
    for (const RealizationCase& c : product_cases()) {
        const CompiledKernel on = realized(c, true), off = realized(c, false);
        EXPECT_EQ(on.group_plan.automatic_cooperative, c.noted.empty() ? 0u : 1u) << c.name;
        EXPECT_EQ(off.group_plan.automatic_cooperative, 0u) << c.name;
        if (c.noted.empty()) {
            EXPECT_EQ(on.source, off.source) << c.name;  // a refused attempt leaves no trace
        }
        if (c.name == "product_on_tensors") {
            EXPECT_EQ(on.plan.gemms.begin()->second.path, Path::kDirectCooperative);
        }
    }
}

TEST(Independence, IsProvedWhetherBarriersAreLeftOutForItOrNot) {
    for (const RealizationCase& c : independence_cases()) {
        const CompiledKernel on = realized(c, true), off = realized(c, false);
        const bool proved = !c.noted.empty();
        EXPECT_EQ(on.group_plan.independent_subgroups, proved) << c.name;
        EXPECT_EQ(off.group_plan.independent_subgroups, proved) << c.name;
        EXPECT_EQ(on.source == off.source, !proved) << c.name;
        EXPECT_EQ(on.source.find("threadgroup_barrier(") == std::string::npos, proved) << c.name << on.source;
        EXPECT_THAT(off.source, HasSubstr("threadgroup_barrier("));
        // Nothing is left out that coalescing is switched off for.
        PlannerOptions o;
        o.elide_independent_subgroup_barriers = true, o.coalesce_group_barriers = false;
        CompileOptions options{.target = c.target,
                               .dims = {},
                               .multiples = {},
                               .entry_suffix = {},
                               .path = {},
                               .planner = o,
                               .after_pass = {}};
        const auto fenced = compile(kernel_of(c.text, "r"), options);
        ASSERT_TRUE(fenced);
        EXPECT_THAT(fenced->source, HasSubstr("threadgroup_barrier("));
    }
}

// BM = 128, BN = 32, BK = 1024.
TEST(BoundedViews, Remove640KiBOfStagingThatNoGroupHas) {
    const Kernel k = kernel_of(kStaged640KiB, "staged");
    CompileOptions options;
    options.target = "metal-m5";
    const auto views = compile(k, options);
    ASSERT_TRUE(views) << views.error().describe();
    EXPECT_EQ(views->threadgroup_bytes, 0);
    EXPECT_EQ(views->group_plan.forwarded_bytes, 640u * 1024);
    EXPECT_THAT(views->explain(), HasSubstr("655360 bytes of staging are read where they come from"));
    options.planner.bypass_staging = false;
    const auto staged = compile(k, options);
    ASSERT_FALSE(staged);
    EXPECT_THAT(staged.error().describe(), HasSubstr("655360"));
}

TEST(PhysicalK, Of45Has180OfItsNominal192Products) {
    CompileOptions options;
    options.target = "metal-m5";
    const auto compiled = compile(kernel_of(kPhysical45, "physical"), options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    const Features& f = compiled->group_plan.products.at(0).priced.features;
    EXPECT_EQ(f.nominal_matrix_issues, 192);
    EXPECT_EQ(f.matrix_issues, 180);
    EXPECT_EQ(compiled->plan.gemms.begin()->second.path, Path::kDirectCooperative);
}

TEST(RemovedElements, Are10240OfADirectAnd6144OfAResidentAccumulator) {
    const Kernel k = kernel_of(kPublished45, "published");
    for (const auto& [direct, removed] : {std::pair(true, 10240), {false, 6144}}) {
        CompileOptions options;
        options.planner.direct_accumulator_store = direct;
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        const PlannedProduct& p = compiled->group_plan.products.at(0);
        EXPECT_EQ(p.chosen.accumulator, direct ? Accumulator::kDirect : Accumulator::kResident);
        EXPECT_EQ(p.priced.features.removed_elements, removed);
    }
}

TEST(BoundedStores, GoThroughASharedTileWhereTheOptionIsOff) {
    for (const std::string scope : {"fragment", "shared"}) {
        const Kernel k = kernel_of(
            "kernel r {\n  in A: f32[40, 64]\n  in B: f32[64, 32]\n  out C: f32[40, 32]\n"
            "  grid by < 2\n  threads 64\n  shared As: f32[32, 32]\n  shared Bs: f32[32, 32]\n  " +
                scope +
                " S: f32[32, 32]\n  fill S = 0.0\n  for step < 2 {\n"
                "    copy As = A[by * 32 : 32, step * 32 : 32]\n"
                "    copy Bs = B[step * 32 : 32, :]\n    gemm S += As @ Bs\n  }\n"
                "  copy C[by * 32 : 32, :] = S\n}\n",
            "r");
        const Arguments x = arguments_of_realization(k);
        const auto before = interpret(k, x);
        ASSERT_TRUE(before) << before.error().describe();
        for (const bool on : {true, false}) {
            CompileOptions options;
            options.planner.bounded_stores = on;
            const auto compiled = compile(k, options);
            ASSERT_TRUE(compiled) << compiled.error().describe();
            EXPECT_EQ(compiled->group_plan.products.at(0).chosen.accumulator,
                      on ? Accumulator::kDirect : Accumulator::kResident);
            EXPECT_EQ(
                compiled->explain().find("direct accumulator: it may be stored past the edge of C, and the "
                                         "option bounded_stores is off") == std::string::npos,
                on);
            const auto after = interpret(compiled->kernel, x);
            ASSERT_TRUE(after) << after.error().describe() << print(compiled->kernel);
            EXPECT_LE(worst_difference(after->at("C"), before->at("C")), 1e-9);
        }
    }
}

struct Published {
    std::string name, from, to, not_resident;
};
void PrintTo(const Published& p, std::ostream* out) {
    *out << p.name;
}
class PublishedSum : public ::testing::TestWithParam<Published> {};

TEST_P(PublishedSum, StaysInMemoryForAReason) {
    std::string text = kPublished45;
    const size_t at = text.find(GetParam().from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, GetParam().from.size(), GetParam().to);
    const Kernel k = kernel_of(text, "published");
    const auto compiled = compile(k, {});
    ASSERT_TRUE(compiled) << compiled.error().describe();
    EXPECT_EQ(compiled->group_plan.products.at(0).not_resident, GetParam().not_resident);
    const Arguments x = arguments_of_realization(k);
    const auto before = interpret(k, x), after = interpret(compiled->kernel, x);
    ASSERT_TRUE(before && after) << before.error().describe() << print(compiled->kernel);
    EXPECT_LE(worst_difference(after->at("C"), before->at("C")), 1e-9) << print(compiled->kernel);
}

const Published kPublishedSums[] = {
    {"looked_at_each_step", "copy Cs = Ds",
     "copy Cs = Ds\n    parallel i < 1 {\n      C[i, 0] = Cs[0, 0]\n    }",
     "store (published.tile:17:7) in the loop touches it, too"},
    {"in_a_loop_that_may_not_run", "fill Ds = 0.0\n  for step < 3",
     "fill Cs = 7.0\n  fill Ds = 0.0\n  for step < 0", "it is handed on in a loop that may not run at all"},
    {"over_something_older", "fill Ds = 0.0", "fill Cs = 7.0\n  fill Ds = 0.0",
     "fill (published.tile:10:3) before the loop touches what it is handed on to"},
    {"and_changed_after", "copy C = Cs", "fill Ds = 1.0\n  copy C = Cs",
     "fill (published.tile:17:3) after the loop touches it"},
};
INSTANTIATE_TEST_SUITE_P(Programs, PublishedSum, ::testing::ValuesIn(kPublishedSums),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot::tile::testing
