// Plans of whole kernels: every option, alone and with others, keeps the meaning; what is refused says why.
#include <algorithm>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "tile/api/compile.h"
#include "tile/gemm_program.h"
#include "tile/ir/print.h"
#include "tile/peer_programs.h"
#include "tile/plan/figure.h"
#include "tile/plan/report.h"

namespace ingot::tile::testing {
namespace {

constexpr bool PlannerOptions::* kFlags[] = {&PlannerOptions::enabled,
#define X(name, value, meaning) &PlannerOptions::name,
                                             INGOT_TILE_PLANNER_FLAGS(X)
#undef X
};

PlannerOptions random_options(std::mt19937& random, const Kernel& k) {
    constexpr uint32_t kMostThreads = 1024;
    PlannerOptions o;
    for (const auto flag : kFlags)
        if (random() % 3 == 0) o.*flag = !(o.*flag);
    if (random() % 4 == 0) o.exact_threads = 32 * (1 + random() % (kMostThreads / 32));
    o.max_copy_batch = 1 + random() % 4;
    if (k.grid.size() == 2 && random() % 2 == 0) o.traversal = Swizzle{SwizzleOrder(random() % 4), 2};
    constexpr uint32_t kBudgets[] = {64, 6, 16, 28, 128};
    o.fragment_budget = kBudgets[random() % std::size(kBudgets)];
    return o;
}

std::string text_of(const PlannerOptions& o) {
    std::string out = fmt::format("budget {} threads {}", o.fragment_budget, o.exact_threads.value_or(0));
    for (const auto flag : kFlags) out += o.*flag ? " 1" : " 0";
    return out;
}

class PlannedLibrary : public ::testing::TestWithParam<LibraryCase> {
  public:
    // What the program means, once.
    void SetUp() override {
        kernel_ = read_kernel(GetParam().name);
        arguments_ = arguments_for(kernel_, GetParam(), GetParam().sizes[1]);
        const auto meaning = interpret(kernel_, arguments_);
        ASSERT_TRUE(meaning) << meaning.error().describe();
        meaning_ = *meaning;
    }

    std::optional<CompiledKernel> expect_same(const PlannerOptions& planner, std::string_view target) {
        CompileOptions options;
        options.target = target;
        options.planner = planner;
        const auto compiled = compile(kernel_, options);
        EXPECT_TRUE(compiled) << text_of(planner) << ": " << compiled.error().describe();
        if (!compiled) return std::nullopt;
        // Divisions among simdgroups aren't in the program: many plans have the same.
        if (!seen_.insert(print(compiled->kernel)).second) return *compiled;
        const auto results = interpret(compiled->kernel, arguments_);
        EXPECT_TRUE(results) << text_of(planner) << ": " << results.error().describe() << "\n"
                             << print(compiled->kernel);
        if (!results) return std::nullopt;
        for (const auto& [name, values] : meaning_)
            EXPECT_LE(worst_difference(results->at(name), values), 1e-9) << text_of(planner) << "\n"
                                                                         << print(compiled->kernel);
        return *compiled;
    }

    Kernel kernel_;
    Arguments arguments_;
    Results meaning_;
    std::set<std::string> seen_;  // programs that were interpreted
};

TEST_P(PlannedLibrary, EachOptionAloneKeepsTheMeaning) {
    for (const std::string_view target : {"metal-m4", "metal-m5"}) {
        for (const auto flag : kFlags) {
            PlannerOptions o;
            o.*flag = !(o.*flag);
            expect_same(o, target);
        }
    }
}

TEST_P(PlannedLibrary, RandomCombinationsKeepTheMeaning) {
    std::mt19937 random(uint32_t(GetParam().name.size() * 131 + size_t(GetParam().name[0])));
    constexpr int kCombinations = 16;  // of each of the library's kernels: more than 300 in all
    for (int i = 0; i < kCombinations; ++i)
        expect_same(random_options(random, kernel_), i % 2 == 0 ? "metal-m4" : "metal-m5");
}

TEST_P(PlannedLibrary, WithoutPlannerTheTextIsTheReferenceWays) {
    PlannerOptions off;
    off.enabled = false;
    const auto compiled = expect_same(off, "metal-m4");
    ASSERT_TRUE(compiled);
    EXPECT_FALSE(compiled->group_plan.applied);
    EXPECT_EQ(explain(compiled->group_plan), "planner: off\n");
}

TEST_P(PlannedLibrary, PlanningIsDeterministicAndLeavesTheProgramAsItWas) {
    const std::string before = print(kernel_);
    const auto first = expect_same({}, "metal-m4"), second = expect_same({}, "metal-m4");
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->source, second->source);
    EXPECT_EQ(first->explain(), second->explain());
    EXPECT_EQ(print(kernel_), before);
}

INSTANTIATE_TEST_SUITE_P(Kernels, PlannedLibrary, ::testing::ValuesIn(library_cases()),
                         [](const auto& test) { return test.param.name; });

// --- accumulators in shared memory

// 32 x 64 of 32 steps of 32, carried through a second tile, as the figures of the models have it.
std::string recurrence(const std::string& body, const std::string& tail = "copy C = Cs",
                       const std::string& head = "fill Cs = 0.0", const std::string& type = "f32",
                       const std::string& loop = "for step < 4") {
    return fmt::format(R"(kernel r {{
  in A: f32[32, 128]
  in B: f32[128, 32]
  out C: f32[32, 32]
  out E: f32[32, 32]
  threads 128
  shared As: f32[32, 32]
  shared Bs: f32[32, 32]
  shared Cs: {3}[32, 32]
  shared Ds: f32[32, 32]
  {2}
  {4} {{
    copy As = A[:, step * 32 : 32]
    copy Bs = B[step * 32 : 32, :]
    {0}
  }}
  {1}
  fill E = 1.0
}}
)",
                       body, tail, head, type, loop);
}

const std::string kCarried = "copy Ds = Cs\n    gemm Ds += As @ Bs\n    copy Cs = Ds";
const std::string kInPlace = "gemm Cs += As @ Bs";

CompiledKernel planned(const std::string& text, const PlannerOptions& planner = {},
                       std::string_view target = "metal-m4") {
    CompileOptions options;
    options.target = target;
    options.planner = planner;
    const auto compiled = compile(kernel_of(text, "r"), options);
    EXPECT_TRUE(compiled) << compiled.error().describe() << "\n" << text;
    return compiled.value_or(CompiledKernel{});
}

void expect_meaning_kept(const std::string& text, const CompiledKernel& compiled) {
    const Kernel k = kernel_of(text, "r");
    Arguments x;
    uint32_t seed = 7;
    for (const BufferId b : k.tensors())
        if (k[b].role != Role::kOut)
            x.tensors[k[b].name] = numbers(*tensor_elements(k, b, {}), k[b].type, seed++);
    const auto before = interpret(k, x), after = interpret(compiled.kernel, x);
    ASSERT_TRUE(before) << before.error().describe();
    ASSERT_TRUE(after) << after.error().describe() << print(compiled.kernel);
    for (const auto& [name, values] : *before)
        EXPECT_LE(worst_difference(after->at(name), values), 1e-9) << name << "\n" << print(compiled.kernel);
}

struct Blocked {
    std::string name, text, not_resident, not_direct;
};
void PrintTo(const Blocked& b, std::ostream* out) {
    *out << b.name;
}

class BlockedAccumulator : public ::testing::TestWithParam<Blocked> {};

TEST_P(BlockedAccumulator, StaysForAReasonThatExplainSays) {
    const Blocked& b = GetParam();
    const CompiledKernel compiled = planned(b.text);
    ASSERT_TRUE(compiled.group_plan.applied) << compiled.group_plan.why_reference;
    const PlannedProduct& p = compiled.group_plan.products.front();
    EXPECT_EQ(p.not_resident, b.not_resident);
    EXPECT_EQ(p.not_direct, b.not_direct);
    if (!b.not_resident.empty()) {
        EXPECT_EQ(p.chosen.accumulator, Accumulator::kShared);
        EXPECT_NE(compiled.explain().find("resident accumulator: " + b.not_resident), std::string::npos);
    }
    if (!b.not_direct.empty()) {
        EXPECT_NE(p.chosen.accumulator, Accumulator::kDirect);
    }
    expect_meaning_kept(b.text, compiled);
    // And every legal plan but the chosen one.
    for (const bool residency : {false, true}) {
        PlannerOptions o;
        o.residency = residency, o.direct_accumulator_store = false;
        expect_meaning_kept(b.text, planned(b.text, o));
    }
}

std::vector<Blocked> blocked_accumulators() {
    const std::string both = "parallel i < 32, j < 32 {\n E[i, j] = Cs[i, j]\n }";
    const auto same = [](std::string name, std::string text, std::string why) {
        return Blocked{std::move(name), std::move(text), why, why};
    };
    return {
        same("another_reader_of_the_carry", recurrence(kInPlace + "\n    copy E = Cs"),
             "copy (r.tile:16:5) in the loop touches it, too"),
        same("an_element_loop_reads_it", recurrence(kInPlace + "\n    " + both),
             "store (r.tile:17:2) in the loop touches it, too"),
        same("a_print_observes_it",
             recurrence(kInPlace + "\n    parallel i < 1 {\n print \"x\", Cs[0, i]\n }"),
             "print (r.tile:17:2) in the loop touches it, too"),
        same("it_is_a_multiplicand", recurrence("copy Ds = Cs\n    gemm Ds += Cs @ Bs\n    copy Cs = Ds"),
             "what it is carried in is also a multiplicand of its product"),
        same("a_branch_decides", recurrence("if step % 2 == 0 {\n gemm Cs += As @ Bs\n }"),
             "a branch decides whether its product runs"),
        same("a_part_of_it", recurrence("gemm Cs[0 : 16, :] += As[0 : 16, :] @ Bs"),
             "its product is of a part of it"),
        same("it_rounds", recurrence(kInPlace, "copy C = Cs", "fill Cs = f16(0.0)", "f16"),
             "it is f16: each step rounds it"),
        same("each_step_overwrites_it", recurrence("gemm Cs = As @ Bs"), "each step overwrites it"),
        same("a_second_product_of_it", recurrence(kInPlace + "\n    gemm Cs += As @ As"),
             "gemm (r.tile:16:5) in the loop touches it, too"),
        {"two_readers_after_the_loop", recurrence(kInPlace, "copy C = Cs\n  copy E = Cs"), "",
         "copy (r.tile:18:3) touches it, too"},
        {"it_starts_as_a_tile", recurrence(kInPlace, "copy C = Cs", "copy Cs = A[:, 0 : 32]"), "",
         "copy (r.tile:11:3) touches it, too"},
        {"only_a_part_is_stored", recurrence(kInPlace, "copy C[0 : 16, :] = Cs[0 : 16, :]"), "",
         "copy (r.tile:17:3) touches it, too"},
        {"nothing_stores_it", recurrence(kInPlace, "fill C = 2.0"), "", "nothing copies it to a tensor"},
        {"pipelined_windows_dont_matter",
         recurrence(kInPlace, "copy C = Cs", "fill Cs = 0.0", "f32", "for step < 4 pipelined(2)"), "", ""},
        {"an_old_value_starts_it", recurrence(kInPlace, "copy C = Cs", "fill Cs = -2.5"), "", ""},
        {"a_carry_through_a_second_tile", recurrence(kCarried), "", ""},
        {"no_step_at_all", recurrence(kCarried, "copy C = Cs", "fill Cs = 3.0", "f32", "for step < 0"), "",
         ""},
        {"a_barrier_of_the_authors", recurrence("barrier\n    " + kInPlace + "\n    barrier"), "", ""},
    };
}

INSTANTIATE_TEST_SUITE_P(Programs, BlockedAccumulator, ::testing::ValuesIn(blocked_accumulators()),
                         [](const auto& test) { return test.param.name; });

TEST(Accumulators, ASecondTileIsGoneWithARecurrenceAndTheFirstWithADirectStore) {
    PlannerOptions one, resident, direct;
    one.pad_shared_rows = resident.pad_shared_rows = direct.pad_shared_rows = false;
    one.residency = one.admit_reference_division = false, one.fragment_budget = 6;
    resident.direct_accumulator_store = false;
    const CompiledKernel a = planned(kFigureProgram, one), b = planned(kFigureProgram, resident),
                         c = planned(kFigureProgram, direct);
    EXPECT_EQ(a.threadgroup_bytes, 28 * 1024);
    EXPECT_EQ(b.threadgroup_bytes, 20 * 1024);
    EXPECT_EQ(c.threadgroup_bytes, 12 * 1024);
    const auto features = [](const CompiledKernel& k) { return k.group_plan.products.at(0).priced.features; };
    for (const CompiledKernel* k : {&a, &b, &c}) {
        EXPECT_EQ(features(*k).matrix_issues, 4096);
        expect_meaning_kept(kFigureProgram, *k);
    }
    EXPECT_EQ(features(a).input_transfers, 8192);
    EXPECT_EQ(features(b).input_transfers, 3072);
    EXPECT_EQ(features(c).input_transfers, 3072);
    EXPECT_EQ(features(a).accumulator_transfers, 2048);
    EXPECT_EQ(features(b).accumulator_transfers, 64);
    EXPECT_EQ(features(c).accumulator_transfers, 0);
    EXPECT_EQ(features(c).direct_stores, 32);
    EXPECT_EQ(features(a).scalars_per_lane, 6);
    EXPECT_EQ(features(b).scalars_per_lane, 28);
    EXPECT_EQ(features(c).scalars_per_lane, 28);
    EXPECT_EQ(c.group_plan.products.at(0).chosen.partition.gn, 4u);
}

// --- what the planner is asked for

TEST(Planner, AnExactNumberOfThreadsIsTaken) {
    PlannerOptions o;
    o.exact_threads = 256;
    const CompiledKernel k = planned(recurrence(kInPlace), o);
    EXPECT_EQ(k.threads, 256u);
    EXPECT_NE(k.source.find("max_total_threads_per_threadgroup(256)"), std::string::npos);
    o.exact_threads = 2048;
    CompileOptions options;
    options.planner = o;
    const auto refused = compile(kernel_of(recurrence(kInPlace), "r"), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "2048 threads; metal-m4 takes 1 to 1024");
}

TEST(Planner, ThreadsThatAreNoWholeSimdgroupsTakeTheScalarReference) {
    PlannerOptions o;
    o.exact_threads = 48;
    const CompiledKernel k = planned(recurrence(kInPlace), o);
    EXPECT_FALSE(k.group_plan.applied);
    EXPECT_EQ(k.group_plan.why_reference, "it has no product to plan");
    EXPECT_EQ(k.plan.gemms.begin()->second.path, Path::kScalar);
    expect_meaning_kept(recurrence(kInPlace), k);
}

TEST(Planner, ASearchOfThreadsFindsAPlanNoWorseThanTheProgramsOwn) {
    PlannerOptions search;
    search.search_threads = true;
    const CompiledKernel own = planned(recurrence(kInPlace)), free = planned(recurrence(kInPlace), search);
    EXPECT_LE(free.group_plan.score, own.group_plan.score);
    EXPECT_EQ(free.group_plan.counters.widths, 32u);
    search.max_thread_candidates = 31;
    CompileOptions options;
    options.planner = search;
    const auto overrun = compile(kernel_of(recurrence(kInPlace), "r"), options);
    ASSERT_FALSE(overrun);
    EXPECT_EQ(overrun.error().kind, ErrorKind::kLimit);
}

TEST(Planner, ABudgetBelowTheSmallestRealizationLeavesTheReferenceWay) {
    PlannerOptions o;
    o.fragment_budget = 5;
    const CompiledKernel k = planned(recurrence(kInPlace), o);
    EXPECT_FALSE(k.group_plan.applied);
    EXPECT_EQ(k.group_plan.why_reference, "some operation has no legal realization at any number of threads");
    o.fragment_budget = 6;
    EXPECT_TRUE(planned(recurrence(kInPlace), o).group_plan.applied);
}

// 64 x 128 on 128 threads: each simdgroup's rectangle is past the budget, and stays what it was before there
// was a planner.
TEST(Planner, AProgramsOwnDivisionStaysWhereEveryRectangleIsPastTheBudget) {
    const CompiledKernel k = planned(gemm_text({.name = "gemm", .tile_n = 128}));
    ASSERT_TRUE(k.group_plan.applied);
    EXPECT_EQ(k.group_plan.products.at(0).priced.features.scalars_per_lane, 88);
    EXPECT_EQ(k.plan.gemms.begin()->second.partition, divide(64, 128, 8, 8, 4, Policy::kSquare));
}

// Two versions of the tiles and the accumulator's own tile are 35 KiB; in steps it fits.
TEST(Planner, LoopsGoStepByStepWhereMoreVersionsOfTheirTilesLeaveNoPlan) {
    CompileOptions options;
    options.planner.direct_accumulator_store = false;
    const auto compiled = compile(read_kernel("gemm"), options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    ASSERT_TRUE(compiled->group_plan.applied) << compiled->group_plan.why_reference;
    EXPECT_EQ(compiled->group_plan.products.at(0).chosen.accumulator, Accumulator::kResident);
    EXPECT_LE(compiled->threadgroup_bytes, 32768);
    EXPECT_NE(compiled->explain().find("pipelined loops: the least plan needs 35840 bytes"),
              std::string::npos)
        << compiled->explain();
    // What fits with versions keeps them.
    options.planner.direct_accumulator_store = true;
    const auto direct = compile(read_kernel("gemm"), options);
    ASSERT_TRUE(direct);
    EXPECT_EQ(direct->explain().find("pipelined loops"), std::string::npos);
    EXPECT_NE(direct->explain().find("into 2 versions"), std::string::npos);
}

TEST(Planner, CostsDecideAmongLegalPlansAlone) {
    PlannerOptions o;
    Costs c = *costs_of("metal-m4");
    c.simdgroup_fragment_transfer = 0;
    c.simdgroup_preferred_scalars = 6;  // registers are dear: fewest scalars a lane win
    o.costs = c;
    const CompiledKernel k = planned(recurrence(kInPlace), o);
    EXPECT_EQ(k.group_plan.products.at(0).priced.features.scalars_per_lane, 6);
    EXPECT_EQ(k.group_plan.products.at(0).chosen.accumulator, Accumulator::kShared);
    expect_meaning_kept(recurrence(kInPlace), k);
}

TEST(Planner, ATraversalIsTakenWhereTheGridHasTwoAxes) {
    CompileOptions options;
    options.planner.traversal = Swizzle{SwizzleOrder::kMlx, 4};
    const auto gemm = compile(read_kernel("gemm"), options);
    ASSERT_TRUE(gemm) << gemm.error().describe();
    EXPECT_EQ(gemm->kernel.swizzle, *options.planner.traversal);
    const auto refused = compile(kernel_of(recurrence(kInPlace), "r"), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "r: a traversal of a grid of 0 axes; two or more are accepted");
}

TEST(Planner, A64x128BlockOfFourSimdgroupsIsTwoByTwoOf32x64WithFourDestinationTensorsEach) {
    const CompiledKernel k =
        planned(gemm_text({.name = "gemm", .tile_n = 128, .c = "global", .metal4 = true}), {}, "metal-m5");
    ASSERT_TRUE(k.group_plan.applied);
    const Partition& p = k.group_plan.products.at(0).chosen.partition;
    EXPECT_EQ(p.gm, 2u);
    EXPECT_EQ(p.gn, 2u);
    EXPECT_EQ(p.rm * p.atom_m, 32u);
    EXPECT_EQ(p.rn * p.atom_n, 64u);
    EXPECT_EQ(p.atoms_each(), 4u);
}

// --- reports

// The part of JSON Schema that docs/tile-plan.schema.json uses.
void expect_valid(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at) {
    if (schema.contains("enum")) {
        EXPECT_TRUE(std::ranges::find(schema["enum"], value) != schema["enum"].end())
            << at << " is " << value;
        return;
    }
    const std::string type = schema["type"];
    const bool fits = type == "object"    ? value.is_object()
                      : type == "array"   ? value.is_array()
                      : type == "string"  ? value.is_string()
                      : type == "boolean" ? value.is_boolean()
                      : type == "integer" ? value.is_number_integer()
                                          : value.is_number();
    ASSERT_TRUE(fits) << at << " is no " << type;
    if (type == "array")
        for (const auto& x : value) expect_valid(schema["items"], x, at + "[]");
    if (type != "object") return;
    for (const auto& name : schema.value("required", nlohmann::json::array()))
        EXPECT_TRUE(value.contains(name)) << at << " has no " << name;
    for (const auto& [name, x] : value.items()) {
        const bool known = schema.contains("properties") && schema["properties"].contains(name);
        if (!known) {
            ASSERT_TRUE(schema["additionalProperties"].is_object()) << at << " has " << name;
        }
        expect_valid(known ? schema["properties"][name] : schema["additionalProperties"], x, at + "." + name);
    }
}

TEST(PlanReport, JsonIsWhatItsSchemaSaysForEveryKernelAndTarget) {
    std::ifstream file(std::string(INGOT_TEST_DATA) + "/../../docs/tile-plan.schema.json");
    const auto schema = nlohmann::json::parse(file);
    size_t products = 0, alternatives = 0, refused = 0, reference = 0;
    for (const LibraryCase& c : library_cases()) {
        for (const std::string_view target : {"metal-m4", "metal-m5"}) {
            CompileOptions options;
            options.target = target;
            const auto compiled = compile(read_kernel(c.name), options);
            ASSERT_TRUE(compiled) << compiled.error().describe();
            const auto json =
                nlohmann::json::parse(to_json(compiled->group_plan, {c.name, std::string(target)}));
            expect_valid(schema, json, c.name);
            EXPECT_EQ(json["kernel"], c.name);
            products += json["products"].size();
            alternatives += json["alternatives"].size();
            refused += json["refused"].size();
            reference += json.contains("reference_because");
        }
    }
    EXPECT_GT(products, 20u);
    EXPECT_GT(alternatives, 30u);
    EXPECT_GT(refused, 20u);
    EXPECT_GT(reference, 10u);
}

TEST(PlanReport, ThePartsOfAPriceAddUpToIt) {
    for (const std::string_view target : {"metal-m4", "metal-m5"}) {
        const CompiledKernel k = planned(recurrence(kInPlace), {}, target);
        for (const PlannedProduct& p : k.group_plan.products) {
            double sum = 0;
            for (const PricedPart& x : p.priced.parts) sum += x.cost;
            EXPECT_EQ(sum, p.priced.score);
            EXPECT_GT(sum, 0);
        }
    }
}

TEST(PlanReport, ThePictureHasEachAtomOnceWithItsOwnerAndABarForEachFeature) {
    const CompiledKernel k = planned(recurrence(kInPlace));
    const std::string svg = to_svg(k.group_plan, {"r<&>", "metal-m4"});
    EXPECT_NE(svg.find("r&lt;&amp;&gt; for metal-m4"), std::string::npos);
    const auto count = [&](const std::string& what) {
        size_t n = 0;
        for (size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++n;
        return n;
    };
    EXPECT_EQ(count("stroke=\"white\""), 16u);
    for (int s = 0; s < 4; ++s)
        for (int f = 0; f < 4; ++f) EXPECT_EQ(count(fmt::format(">{}.{}<", s, f)), 1u);
    for (const PricedPart& x : k.group_plan.products.at(0).priced.parts)
        EXPECT_EQ(count(fmt::format(">{}<", x.feature)), 1u);
    EXPECT_EQ(count("<svg"), 1u);
    EXPECT_EQ(count("</svg>"), 1u);
}

TEST(PlanReport, OnlySizesThatAreNotKnownAreAssumed) {
    CompileOptions options;
    options.target = "metal-m4";
    using Dims = std::map<std::string, int64_t>;
    for (const auto& [dims, assumed] :
         {std::pair(Dims(), std::vector<std::string>{"m = 1024", "n = 1024", "k = 1024"}),
          {Dims{{"m", 64}, {"k", 96}}, {"n = 1024"}},
          {Dims{{"m", 64}, {"n", 64}, {"k", 96}}, {}}}) {
        options.dims = dims;
        const auto compiled = compile(read_kernel("gemm_shared"), options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        EXPECT_EQ(assumed, compiled->group_plan.assumed);
    }
}

TEST(PlanReport, ExplainNamesTheChoiceTwoAlternativesAndEveryRefusalWithItsLine) {
    const CompiledKernel k = planned(recurrence(kInPlace + "\n    copy E = Cs"));
    const std::string text = explain(k.group_plan);
    EXPECT_NE(text.find("planner: 128 threads, score "), std::string::npos) << text;
    EXPECT_NE(
        text.find("refused at r.tile:15:5: resident accumulator: copy (r.tile:16:5) in the loop touches it"),
        std::string::npos)
        << text;
    size_t instead = 0;
    for (size_t at = text.find("instead: "); at != std::string::npos; at = text.find("instead: ", at + 1))
        ++instead;
    EXPECT_EQ(instead, 2u);
}

}  // namespace
}  // namespace ingot::tile::testing
