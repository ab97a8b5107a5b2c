// Plans on the virtual Metal device: what the models count is what the device counts, for every realization
// that is legal, and plans of any options compute what plain loops do, watched by the checkers.
#include <set>

#include "tile/peer_programs.h"
#include "tile/plan/figure.h"
#include "tile/plan/realizations.h"
#include "tile_device/device.h"

namespace ingot::tile::testing {
namespace {

// Two groups of one product each; C in a fragment, in shared memory, or carried through a second shared tile.
enum class SumIn { kFragment, kShared, kCarried };

struct CountedProduct {
    std::string name;
    int m, n;
    SumIn sum;
    uint32_t threads;
    int steps = 2;
};

void PrintTo(const CountedProduct& c, std::ostream* out) {
    *out << c.name;
}

Kernel kernel_of(const CountedProduct& c) {
    constexpr int kStep = 16;
    const bool carried = c.sum == SumIn::kCarried;
    const std::string text = fmt::format(
        R"(kernel counted {{
  in A: f32[{0}, {2}]
  in B: f32[{2}, {1}]
  out C: f32[{0}, {1}]
  grid bx < 2, by < 1
  threads {3}
  shared As: f32[{0}, {4}]
  shared Bs: f32[{4}, {5}]
  {6} S: f32[{0}, {5}]
  {7}
  fill S = 0.0
  for step < {8} {{
    copy As = A[:, step * {4} : {4}]
    copy Bs = B[step * {4} : {4}, bx * {5} : {5}]
    {9}
  }}
  copy C[:, bx * {5} : {5}] = S
}}
)",
        c.m, 2 * c.n, kStep * c.steps, c.threads, kStep, c.n,
        c.sum == SumIn::kFragment ? "fragment" : "shared",
        carried ? fmt::format("shared D: f32[{}, {}]", c.m, c.n) : "", c.steps,
        carried ? "copy D = S\n    gemm D += As @ Bs\n    copy S = D" : "gemm S += As @ Bs");
    return testing::kernel_of(text, "counted");
}

std::vector<double> product_of(const Arguments& x, int64_t m, int64_t n, int64_t k) {
    std::vector<double> c(size_t(m * n));
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
            for (int64_t l = 0; l < k; ++l)
                c[size_t(i * n + j)] +=
                    x.tensors.at("A")[size_t(i * k + l)] * x.tensors.at("B")[size_t(l * n + j)];
    return c;
}

Arguments arguments_of(const Kernel& k) {
    Arguments x;
    uint32_t seed = 11;
    for (const BufferId b : k.tensors())
        if (k[b].role != Role::kOut)
            x.tensors[k[b].name] = numbers(*tensor_elements(k, b, {}), k[b].type, seed++);
    return x;
}

// The plan's features against the device's counters, of two groups.
void expect_counted(const CompiledKernel& k, const metal::count::Counts& done, const std::string& what) {
    const uint64_t groups = done.threadgroups;
    ASSERT_EQ(groups, 2u);
    Features sum;
    for (const PlannedProduct& p : k.group_plan.products) {
#define X(name, meaning) sum.name += p.priced.features.name;
        INGOT_TILE_FEATURES(X)
#undef X
    }
    const bool tensors = k.group_plan.products.front().basis != CostBasis::kSimdgroupReference;
    EXPECT_EQ(double(done.tensor_operations), sum.tensor_operations * double(groups)) << what;
    if (tensors) {
        // What an operation does inside isn't counted in 8x8 matrices, but its shape and its memory are.
        double products = 0;
        for (const metal::count::ProductCounts& t : done.tensor_products)
            products += double(t.operations()) * t.shape.m * t.shape.n * t.shape.k / 512;
        EXPECT_EQ(products, sum.nominal_matrix_issues * double(groups)) << what;
        constexpr double kMatrixBytes = 64 * 4;
        EXPECT_EQ(double(done.buffers.at(0).bytes_read + done.buffers.at(1).bytes_read),
                  sum.input_transfers * kMatrixBytes * double(groups))
            << what;
        EXPECT_EQ(double(done.buffers.at(2).bytes_written), sum.direct_stores * kMatrixBytes * double(groups))
            << what;
        return;
    }
    EXPECT_EQ(double(done.matrix_products), sum.matrix_issues * double(groups)) << what;
    EXPECT_EQ(double(done.matrix_loads_threadgroup + done.matrix_stores_threadgroup),
              (sum.input_transfers + sum.accumulator_transfers) * double(groups))
        << what << k.source;
    EXPECT_EQ(double(done.matrix_stores_device), sum.direct_stores * double(groups)) << what;
    EXPECT_EQ(done.matrix_loads_device, 0u) << what;
}

class CountedPlans : public ::testing::TestWithParam<CountedProduct> {};

TEST_P(CountedPlans, EveryLegalRealizationDoesWhatItsModelCounts) {
    const CountedProduct& c = GetParam();
    const Kernel k = kernel_of(c);
    const Arguments x = arguments_of(k);
    const auto expected = product_of(x, c.m, 2 * c.n, 16 * c.steps);
    PlanOptions reference;
    reference.target = *target_named("metal-m4");
    const auto legal = legal_realizations(k, reference, {});
    ASSERT_TRUE(legal) << legal.error().describe();
    ASSERT_EQ(legal->size(), 1u);
    ASSERT_GE(legal->front().size(), 3u);
    for (const Realization& r : legal->front()) {
        CompileOptions options;
        options.planner.fixed = {{r.partition, r.accumulator}};
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << describe(r) << compiled.error().describe();
        ASSERT_TRUE(compiled->group_plan.applied) << describe(r) << compiled->group_plan.why_reference;
        ASSERT_EQ(compiled->group_plan.products.front().chosen.partition, r.partition);
        metal::count::Counts done;
        const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kNax, &done);
        ASSERT_TRUE(results) << describe(r) << results.error().describe() << compiled->source;
        expect_counted(*compiled, done, describe(r));
        EXPECT_LE(worst_difference(results->at("C"), expected), 1e-5) << describe(r) << compiled->source;
    }
}

std::vector<CountedProduct> counted_products() {
    std::vector<CountedProduct> out;
    const std::pair<SumIn, std::string> kinds[] = {
        {SumIn::kFragment, "fragment"}, {SumIn::kShared, "shared"}, {SumIn::kCarried, "carried"}};
    const std::pair<int, int> sizes[] = {{16, 16}, {16, 32}, {24, 16}};
    for (const auto& [m, n] : sizes)
        for (const auto& [sum, name] : kinds)
            for (const uint32_t threads : {32u, 64u, 128u})
                out.push_back({fmt::format("{}_{}x{}_on_{}", name, m, n, threads), m, n, sum, threads});
    return out;
}

INSTANTIATE_TEST_SUITE_P(Products, CountedPlans, ::testing::ValuesIn(counted_products()),
                         [](const auto& test) { return test.param.name; });

// The promise that the suite above makes.
TEST(CountedPlansInAll, AreMoreThan150PairsOfKernelAndPlan) {
    size_t pairs = 0;
    PlanOptions reference;
    reference.target = *target_named("metal-m4");
    for (const CountedProduct& c : counted_products())
        pairs += legal_realizations(kernel_of(c), reference, {})->front().size();
    EXPECT_GE(pairs, 150u);
}

TEST(CountedPlansOfTensors, EveryDivisionDoesTheOperationsItsModelCounts) {
    for (const uint32_t threads : {32u, 64u, 128u}) {
        const Kernel k = testing::kernel_of(fmt::format(R"(kernel counted {{
  in A: f32[64, 48]
  in B: f32[48, 128]
  out C: f32[64, 128]
  grid bx < 2, by < 1
  threads {}
  gemm C[:, bx * 64 : 64] = A @ B[:, bx * 64 : 64]
}}
)",
                                                        threads),
                                            "counted");
        const Arguments x = arguments_of(k);
        const auto expected = product_of(x, 64, 128, 48);
        PlanOptions reference;
        reference.target = *target_named("metal-m5");
        PlannerOptions wide;
        wide.fragment_budget = 256;
        const auto legal = legal_realizations(k, reference, wide);
        ASSERT_TRUE(legal);
        ASSERT_GE(legal->front().size(), 1u);
        for (const Realization& r : legal->front()) {
            CompileOptions options;
            options.target = "metal-m5";
            options.planner = wide;
            options.planner.fixed = {{r.partition, r.accumulator}};
            const auto compiled = compile(k, options);
            ASSERT_TRUE(compiled) << compiled.error().describe();
            ASSERT_EQ(compiled->plan.gemms.begin()->second.path, Path::kDirectCooperative);
            metal::count::Counts done;
            const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kScrambled, &done);
            ASSERT_TRUE(results) << results.error().describe();
            expect_counted(*compiled, done, describe(r));
            EXPECT_LE(worst_difference(results->at("C"), expected), 1e-5) << describe(r);
        }
    }
}

// 32 x 64 of 32 steps of 32, as the figures have it: what the model says, the device counts.
TEST(CountedFigure, The32x64TileDoesWhatTheModelsFiguresSay) {
    struct Figure {
        bool residency, direct;
        uint64_t inputs, through_shared, stores_device;
        int64_t bytes;
    };
    const Figure figures[] = {{false, false, 8192, 2048, 0, 28 * 1024},
                              {true, false, 3072, 64, 0, 20 * 1024},
                              {true, true, 3072, 0, 32, 12 * 1024}};
    const Kernel k = testing::kernel_of(testing::kFigureProgram, "figure");
    const Arguments x = arguments_of(k);
    const auto expected = product_of(x, 32, 64, 1024);
    for (const Figure& f : figures) {
        CompileOptions options;
        options.planner.residency = f.residency;
        options.planner.direct_accumulator_store = f.direct;
        options.planner.pad_shared_rows = options.planner.admit_reference_division = false;
        if (!f.residency) options.planner.fragment_budget = 6;
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        EXPECT_EQ(compiled->threadgroup_bytes, f.bytes);
        metal::count::Counts done;
        const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kNax, &done);
        ASSERT_TRUE(results) << results.error().describe();
        EXPECT_EQ(done.matrix_products, 4096u);
        EXPECT_EQ(done.matrix_loads_threadgroup + done.matrix_stores_threadgroup,
                  f.inputs + f.through_shared);
        EXPECT_EQ(done.matrix_stores_device, f.stores_device);
        EXPECT_LE(worst_difference(results->at("C"), expected), 1e-4);
    }
}

// Values read together before they are stored: the same results, watched, with a remainder where the turns
// don't divide; what stores under a condition or to a tensor stays one at a time.
TEST(CopyBatches, ComputeTheSameAndSayHowManyCopiesTookThem) {
    const Kernel k = testing::kernel_of(R"(kernel batched {
  in A: f32[24, 40]
  out C: f32[24, 40]
  threads 64
  shared t: f32[24, 40]
  copy t = A[1 : 24, 3 : 40] fill 2.0
  copy C = t
}
)",
                                        "batched");
    const Arguments x = arguments_of(k);
    const auto expected = interpret(k, x);
    ASSERT_TRUE(expected) << expected.error().describe();
    for (const uint32_t batch : {1u, 2u, 4u, 16u}) {
        CompileOptions options;
        options.planner.max_copy_batch = batch;
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        EXPECT_EQ(compiled->group_plan.max_copy_batch, batch);
        EXPECT_EQ(compiled->group_plan.batched_copies, batch == 1 ? 0u : 1u) << compiled->source;
        // 960 elements are 15 turns of 64 threads.
        EXPECT_EQ(compiled->source.find(fmt::format("moved[{}]", std::min(batch, 15u))) != std::string::npos,
                  batch > 1)
            << compiled->source;
        const auto results = run_on_device(*compiled, x);
        ASSERT_TRUE(results) << results.error().describe() << compiled->source;
        EXPECT_EQ(worst_difference(results->at("C"), expected->at("C")), 0) << compiled->source;
    }
    CompileOptions options;
    options.planner.max_copy_batch = 17;
    const auto refused = compile(k, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "max_copy_batch is 17; 1 to 16 are accepted");
}

size_t count_of(const std::string& text, const std::string& what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

// Write a; something unrelated; read a: what is since the last barrier counts, not the statement before
// alone.
TEST(CoalescedBarriers, KeepTheOneThatAReadPastUnrelatedWorkNeedsAndNoFewerWouldDo) {
    const Kernel k = testing::kernel_of(R"(kernel fences {
  in A: f32[32, 32]
  in B: f32[32, 32]
  out C: f32[32, 32]
  out E: f32[32, 32]
  threads 64
  shared a: f32[32, 32]
  shared b: f32[32, 32]
  copy a = A
  copy b = B
  parallel i < 32, j < 32 {
    C[i, j] = a[j, i]
  }
  parallel i < 32, j < 32 {
    E[i, j] = b[j, i]
  }
}
)",
                                        "fences");
    const Arguments x = arguments_of(k);
    const auto expected = interpret(k, x);
    ASSERT_TRUE(expected) << expected.error().describe();
    CompileOptions options;
    auto compiled = compile(k, options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    EXPECT_EQ(count_of(compiled->source, "threadgroup_barrier("), 1u) << compiled->source;
    options.planner.coalesce_group_barriers = false;
    auto fenced = compile(k, options);
    ASSERT_TRUE(fenced);
    EXPECT_EQ(count_of(fenced->source, "threadgroup_barrier("), 3u) << fenced->source;
    for (const CompiledKernel* c : {&*compiled, &*fenced}) {
        const auto results = run_on_device(*c, x);
        ASSERT_TRUE(results) << results.error().describe();
        for (const auto& [name, values] : *expected)
            EXPECT_EQ(worst_difference(results->at(name), values), 0);
    }
    // One more barrier removed is a race that the checker reports.
    const size_t at = compiled->source.find("threadgroup_barrier(");
    compiled->source.erase(at, compiled->source.find('\n', at) - at);
    const auto raced = run_on_device(*compiled, x);
    ASSERT_FALSE(raced);
    EXPECT_NE(raced.error().message.find("race"), std::string::npos) << raced.error().message;
}

// Elements that threads store one by one: not as matrices.
uint64_t stored_elements(const metal::count::Counts& c) {
    uint64_t bytes = c.threadgroup_memory.bytes_written;
    for (const metal::count::MemoryCounts& b : c.buffers) bytes += b.bytes_written;
    constexpr uint64_t kElementBytes = 4, kMatrixElements = 64;
    return bytes / kElementBytes - (c.matrix_stores_threadgroup + c.matrix_stores_device) * kMatrixElements;
}

TEST(CountedFigure, APhysicalKOf45DoesWithout10240ElementsDirectAnd6144Resident) {
    const Kernel k = testing::kernel_of(testing::kPublished45, "published");
    const Arguments x = arguments_of(k);
    const auto expected = product_of(x, 32, 64, 45);
    const auto counted = [&](bool residency, bool direct) {
        CompileOptions options;
        options.planner.residency = residency, options.planner.direct_accumulator_store = direct;
        const auto compiled = compile(k, options);
        EXPECT_TRUE(compiled);
        metal::count::Counts done;
        const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kNax, &done);
        EXPECT_TRUE(results) << results.error().describe();
        EXPECT_LE(worst_difference(results->at("C"), expected), 1e-5);
        EXPECT_EQ(done.matrix_products, 192u);  // simdgroup matrices take zeros past the end
        return stored_elements(done);
    };
    const uint64_t all = counted(false, false);
    EXPECT_EQ(all - counted(true, true), 10240u);
    EXPECT_EQ(all - counted(true, false), 6144u);
}

// Runs a program that multiplies A by B for C, and compares: what the device counted.
metal::count::Counts counted_product(const char* text, const char* name, int m, int n, int k,
                                     double tolerance) {
    const Kernel program = testing::kernel_of(text, name);
    const Arguments x = arguments_of(program);
    CompileOptions options;
    options.target = "metal-m5";
    const auto compiled = compile(program, options);
    EXPECT_TRUE(compiled) << compiled.error().describe();
    if (!compiled) return {};
    metal::count::Counts done;
    const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kScrambled, &done);
    EXPECT_TRUE(results) << results.error().describe() << compiled->source;
    if (results) {
        EXPECT_LE(worst_difference(results->at("C"), product_of(x, m, n, k)), tolerance);
    }
    return done;
}

TEST(CountedFigure, APhysicalKOf45Is192ProductsByName180OfThemByWhatIsRead) {
    const metal::count::Counts done = counted_product(testing::kPhysical45, "physical", 32, 64, 45, 1e-5);
    ASSERT_EQ(done.tensor_products.size(), 1u);
    const metal::ProductShape shape = done.tensor_products[0].shape;
    EXPECT_EQ(uint64_t(shape.m) * shape.n * shape.k / 512 * done.tensor_operations, 192u);
    // A is 32 rows of f32: what is read of it is the physical K.
    const uint64_t physical_k = done.buffers.at(0).bytes_read / (4 * 32);
    EXPECT_EQ(uint64_t{4} * 8 * physical_k / 8, 180u);
}

TEST(CountedFigure, BoundedViewsNeedNoneOf640KiB) {
    const metal::count::Counts done = counted_product(testing::kStaged640KiB, "staged", 128, 32, 1500, 1e-4);
    EXPECT_FALSE(done.buffers.empty());  // it ran
    EXPECT_EQ(done.threadgroup_memory.bytes_written + done.threadgroup_memory.bytes_read, 0u);
    EXPECT_EQ(done.barriers, 0u);
}

class RealizedOnDevice : public ::testing::TestWithParam<RealizationCase> {};

// Watched; what is refused is the same without its option, which other suites run.
TEST_P(RealizedOnDevice, ComputesTheSame) {
    const RealizationCase& c = GetParam();
    const Kernel k = testing::kernel_of(c.text, "r");
    const Arguments x = arguments_of(k);
    const auto expected = interpret(k, x);
    ASSERT_TRUE(expected) << expected.error().describe();
    CompileOptions options;
    options.target = c.target;
    options.planner.*c.option = true;
    const auto compiled = compile(k, options);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kScrambled);
    ASSERT_TRUE(results) << results.error().describe() << compiled->source;
    for (const auto& [name, values] : *expected)
        EXPECT_LE(worst_difference(results->at(name), values), 2e-5) << name << compiled->source;
}

std::vector<RealizationCase> realized_cases() {
    std::vector<RealizationCase> out = realization_cases();
    std::erase_if(out, [](const RealizationCase& c) { return c.noted.empty(); });
    return out;
}

INSTANTIATE_TEST_SUITE_P(Programs, RealizedOnDevice, ::testing::ValuesIn(realized_cases()),
                         [](const auto& test) { return test.param.name; });

// One value's kind: what a sum of rounded numbers has in common with the exact one.
char kind_of(double v) {
    return std::isnan(v)   ? 'n'
           : std::isinf(v) ? (v > 0 ? 'I' : 'i')
           : v == 0        ? (std::signbit(v) ? '-' : '0')
                           : '.';
}

// Rows past the edge, simdgroups that have none, and a short last step, with Inf, NaN and zeros of both signs
// in the operands and the accumulator: 0 * Inf is NaN wherever the program has it, and nowhere else.
TEST(BoundedViewsOnDevice, KeepInfNanAndTheSignOfZeroAtEveryEdge) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    for (const int m : {50, 40, 64}) {
        std::string text = staged(
            "45", "3", "    copy As = A[by * 32 : 32, step * 16 : 16]\n    copy Bs = B[step * 16 : 16, :]\n",
            "gemm C[by * 32 : 32, :] += As @ Bs", m);
        const size_t fill = text.find("fill C[by * 32 : 32, :] = 0.0");
        text.replace(fill, 29, "fill C[by * 32 : 32, :] = -0.0");
        const Kernel k = testing::kernel_of(text, "r");
        Arguments x = arguments_of(k);
        auto &a = x.tensors["A"], &b = x.tensors["B"];
        for (int kk = 0; kk < 45; ++kk) a[size_t(3 * 45 + kk)] = -0.0, a[size_t(4 * 45 + kk)] = 0.0;
        for (int kk = 0; kk < 45; ++kk) b[size_t(kk * 32 + 7)] = std::abs(b[size_t(kk * 32 + 7)]);
        a[size_t((m - 1) * 45 + 44)] = kInf, b[44 * 32 + 5] = kInf, b[44 * 32 + 6] = std::nan("");
        b[2 * 32 + 9] = -kInf;
        // Every product is added to what is there, -0 first.
        std::vector<double> expected(size_t(m) * 32, -0.0);
        for (size_t i = 0; i < expected.size(); ++i)
            for (size_t kk = 0; kk < 45; ++kk) expected[i] += a[i / 32 * 45 + kk] * b[kk * 32 + i % 32];
        CompileOptions options;
        options.target = "metal-m5";
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        ASSERT_EQ(compiled->plan.gemms.begin()->second.path, Path::kDirectCooperative);
        for (const metal::CooperativeLayout layout : layouts_of(*compiled)) {
            const auto results = run_on_device(*compiled, x, layout);
            ASSERT_TRUE(results) << results.error().describe() << compiled->source;
            std::set<char> kinds;
            for (size_t i = 0; i < expected.size(); ++i) {
                const double actual = results->at("C")[i], wanted = expected[i];
                ASSERT_EQ(kind_of(actual), kind_of(wanted))
                    << m << " row " << i / 32 << " column " << i % 32 << ": " << actual << " for " << wanted;
                kinds.insert(kind_of(wanted));
            }
            EXPECT_TRUE(kinds.contains('n') && kinds.contains('I') && kinds.contains('.') &&
                        kinds.contains('-'));
        }
    }
}

class PlannedOnDevice : public ::testing::TestWithParam<LibraryCase> {};

// Plans of random options, watched: right results, no race, no read of what nothing wrote.
TEST_P(PlannedOnDevice, RandomOptionsComputeTheSame) {
    const LibraryCase& c = GetParam();
    const Kernel k = read_kernel(c.name);
    const Arguments x = arguments_for(k, c, c.sizes[1]);
    const Results expected = c.reference(x);
    std::mt19937 random(uint32_t(c.name.size() * 17 + size_t(c.name.back())));
    constexpr int kPlans = 4;
    std::set<std::string> seen;
    for (int i = 0; i < kPlans; ++i) {
        CompileOptions options;
        options.target = i % 2 == 0 ? "metal-m4" : "metal-m5";
        PlannerOptions& o = options.planner;
#define X(name, value, meaning) o.name = random() % 2 == 0;
        INGOT_TILE_PLANNER_FLAGS(X)
#undef X
        o.search_threads = false;  // the next line's
        o.max_copy_batch = 1 + random() % 4;
        if (k.grid.size() == 2 && random() % 2 == 0) o.traversal = Swizzle{SwizzleOrder(random() % 4), 2};
        if (random() % 2 == 0) o.exact_threads = 32u << random() % 4;
        o.fragment_budget = random() % 2 == 0 ? 64 : 16;
        const auto compiled = compile(k, options);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        if (!seen.insert(compiled->source).second) continue;
        const auto results = run_on_device(*compiled, x, metal::CooperativeLayout::kScrambled);
        ASSERT_TRUE(results) << results.error().describe() << compiled->explain() << compiled->source;
        for (const auto& [name, values] : expected)
            EXPECT_LE(worst_difference(results->at(name), values), c.tolerance)
                << compiled->explain() << compiled->source;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PlannedOnDevice, ::testing::ValuesIn(library_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace ingot::tile::testing
