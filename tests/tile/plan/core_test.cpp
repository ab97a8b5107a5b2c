// The planner's pure parts: maps against enumeration, counts against the formulas' figures and loops, the
// solver against trying everything.
#include <algorithm>
#include <set>

#include "tile/library.h"
#include "tile/plan/mean_extent.h"
#include "tile/plan/solver.h"
#include "tile/plan/work_model.h"

namespace ingot::tile::testing {
namespace {

// Each atom has one owner, who finds it again; every other fragment of the last round has none.
void expect_bijection(const Partition& p) {
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (uint32_t s = 0; s < p.simdgroups; ++s) {
        for (uint32_t f = 0; f < p.atoms_each(); ++f) {
            const auto atom = atom_of(p, {s, f});
            if (!atom) continue;
            ASSERT_LT(atom->row, p.rows);
            ASSERT_LT(atom->column, p.columns);
            ASSERT_TRUE(seen.insert({atom->row, atom->column}).second);
            ASSERT_EQ(owner_of(p, *atom), (AtomOwner{s, f}));
        }
    }
    ASSERT_EQ(seen.size(), size_t{p.rows} * p.columns);
}

TEST(ExecutionMap, EveryLegalMemberIsABijectionUpTo64x64x64And1024Threads) {
    size_t members = 0;
    for (uint32_t m = 8; m <= 64; m += 8) {
        for (uint32_t n = 8; n <= 64; n += 8) {
            for (uint32_t simdgroups = 1; simdgroups <= 32; ++simdgroups) {
                std::vector<Partition> family = rectangles(m, n, 8, 8, simdgroups);
                for (const Partition& p : rectangles(m, n, 16, 32, simdgroups)) family.push_back(p);
                family.push_back(in_turn(m, n, 8, 8, simdgroups));
                // By trying every factor: none is missed.
                size_t expected = 1;
                for (uint32_t gm = 1; gm <= simdgroups; ++gm) {
                    if (simdgroups % gm != 0) continue;
                    const uint32_t gn = simdgroups / gm;
                    expected += m / 8 % gm == 0 && n / 8 % gn == 0;
                    expected += m % 16 == 0 && n % 32 == 0 && m / 16 % gm == 0 && n / 32 % gn == 0;
                }
                ASSERT_EQ(family.size(), expected) << m << "x" << n << " on " << simdgroups;
                for (const Partition& p : family) expect_bijection(p);
                members += family.size();
            }
        }
    }
    EXPECT_EQ(members, 2459u);
}

// The access path for all three operands: each 8x8x8 step of the tile is done once, by the simdgroup that
// owns its output atom.
TEST(ExecutionMap, StepsOfKVisitEachProductOfAtomsOnce) {
    for (const uint32_t k : {8u, 24u, 64u}) {
        for (const Partition& p : rectangles(64, 48, 8, 8, 4)) {
            std::set<std::tuple<uint32_t, uint32_t, uint32_t>> done;
            for (uint32_t s = 0; s < 4; ++s)
                for (uint32_t q = 0; q < k / 8; ++q)
                    for (uint32_t f = 0; f < p.atoms_each(); ++f) {
                        const auto atom = atom_of(p, {s, f});
                        EXPECT_TRUE(done.insert({atom->row, atom->column, q}).second);
                    }
            EXPECT_EQ(done.size(), size_t{8 * 6} * (k / 8));
        }
    }
}

TEST(ExecutionMap, OneWholeGroupOperationAndFourOfSimdgroupsCoverTheSameOutputDifferently) {
    const Cohort whole{Cohort::Scope::kWholeGroup, 1, 1, 64, 64},
        four{Cohort::Scope::kSimdgroup, 2, 2, 32, 32};
    bool differs = false;
    for (uint64_t m = 0; m < 128; ++m) {
        for (uint64_t n = 0; n < 128; ++n) {
            for (const Cohort& c : {whole, four}) {
                const OperationElement e = operation_of(c, {m, n});
                EXPECT_LT(e.simdgroup, c.rows * c.columns);
                ASSERT_EQ(output_of(c, e), (OutputElement{m, n}));
                EXPECT_EQ(e.group_m, m / 64);
            }
            differs |= operation_of(four, {m, n}).simdgroup != 0;
        }
    }
    EXPECT_TRUE(differs);
}

TEST(MeanExtent, TheClosedFormIsTheMeanOfEnumeration) {
    std::mt19937 random(1);
    const auto between = [&](int64_t lo, int64_t hi) {
        return lo + int64_t(random() % uint64_t(hi - lo + 1));
    };
    size_t known = 0;
    for (int i = 0; i < 20000; ++i) {
        const int64_t first = between(-40, 200), step = between(-20, 20), count = between(1, 30);
        const auto cap = random() % 3 == 0 ? std::nullopt : std::optional<int64_t>(between(1, 60));
        int64_t sum = 0;
        bool positive = true;
        for (int64_t j = 0; j < count; ++j) {
            positive &= first + step * j > 0;
            sum += std::min(cap.value_or(1000000), first + step * j);
        }
        const auto mean = mean_capped(first, step, count, cap);
        ASSERT_EQ(mean.has_value(), positive) << first << " " << step << " " << count;
        if (!mean) continue;
        ++known;
        ASSERT_EQ(mean->total, uint64_t(sum));
        ASSERT_EQ(mean->count, uint64_t(count));
    }
    EXPECT_GT(known, 5000u);
}

TEST(MeanExtent, HugeSumsAreRefusedInsteadOfWrapped) {
    EXPECT_EQ(mean_capped(int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40, std::nullopt), std::nullopt);
    EXPECT_EQ(mean_capped(int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40, 16)->value(), 16);
}

// 32 x 64 output, K tile 32, 32 iterations, 128 threads.
constexpr ProductWork kFigure{.m = 32, .n = 64, .k = 32, .executions = 32, .recurrence = 32};

Partition one_by_four() {
    for (const Partition& p : rectangles(32, 64, 8, 8, 4))
        if (p.gm == 1 && p.gn == 4) return p;
    ADD_FAILURE();
    return {};
}

Features counted(CostBasis basis, const ProductWork& w, const Realization& r) {
    const auto f = features_of(basis, w, r);
    EXPECT_TRUE(f) << f.error().describe();
    return f.value_or(Features{});
}

TEST(WorkModel, The32x64FigureComesOutInAllThreeRealizations) {
    const Partition p = one_by_four();
    EXPECT_EQ(p.rm, 4u);
    EXPECT_EQ(p.rn, 2u);
    const auto basis = CostBasis::kSimdgroupReference;
    const Features reference = counted(basis, kFigure, {in_turn(32, 64, 8, 8, 4), Accumulator::kShared}),
                   resident = counted(basis, kFigure, {p, Accumulator::kResident}),
                   direct = counted(basis, kFigure, {p, Accumulator::kDirect});
    for (const Features& f : {reference, resident, direct}) EXPECT_EQ(f.matrix_issues, 4096);
    EXPECT_EQ(reference.input_transfers, 8192);
    EXPECT_EQ(resident.input_transfers, 3072);
    EXPECT_EQ(direct.input_transfers, 3072);
    EXPECT_EQ(reference.accumulator_transfers, 2048);
    EXPECT_EQ(resident.accumulator_transfers, 64);
    EXPECT_EQ(direct.accumulator_transfers, 0);
    EXPECT_EQ(reference.direct_stores, 0);
    EXPECT_EQ(resident.direct_stores, 0);
    EXPECT_EQ(direct.direct_stores, 32);
    EXPECT_EQ(reference.scalars_per_lane, 6);
    EXPECT_EQ(resident.scalars_per_lane, 28);
    EXPECT_EQ(direct.scalars_per_lane, 28);
}

TEST(WorkModel, A32x64LocalOutputHolds64ScalarsInCooperativeTensorsAnd88InMatrices) {
    const Realization tensors{rectangles(32, 64, 16, 32, 1).front(), Accumulator::kDirect},
        matrices{rectangles(32, 64, 8, 8, 1).front(), Accumulator::kDirect};
    EXPECT_EQ(scalars_per_lane(CostBasis::kMppMemoryV3, tensors), 64u);
    EXPECT_EQ(scalars_per_lane(CostBasis::kSimdgroupReference, matrices), 88u);
    EXPECT_EQ(least_scalars_per_lane(CostBasis::kMppMemoryV3), 4u);
    EXPECT_EQ(least_scalars_per_lane(CostBasis::kSimdgroupReference), 6u);
    EXPECT_EQ(
        scalars_per_lane(CostBasis::kSimdgroupReference, {in_turn(64, 64, 8, 8, 3), Accumulator::kShared}),
        6u);
}

// 32 x 64, three nominal steps of 16 over a physical K of 45; 2048 elements each are yielded by a step,
// initialized, and stored.
TEST(WorkModel, APhysicalKOf45Is180AtomsOf192Nominal) {
    ProductWork w{.m = 32, .n = 64, .k = 16, .executions = 3, .recurrence = 3};
    w.physical_k = *mean_capped(45, -16, 3, 16);
    EXPECT_EQ(w.physical_k.total, 45u);
    w.resident_elements = 3 * 2048, w.direct_elements = 2 * 2048;
    const Partition p = rectangles(32, 64, 16, 32, 2).front();
    const Features v3 = counted(CostBasis::kMppMemoryV3, w, {p, Accumulator::kDirect});
    EXPECT_EQ(v3.nominal_matrix_issues, 192);
    EXPECT_EQ(v3.matrix_issues, 180);
    EXPECT_EQ(v3.removed_elements, 10240);
    EXPECT_EQ(counted(CostBasis::kMppMemoryV3, w, {p, Accumulator::kResident}).removed_elements, 6144);
    EXPECT_EQ(counted(CostBasis::kMppMemoryV3, w, {p, Accumulator::kShared}).removed_elements, 0);
    const Features v2 = counted(CostBasis::kMppMemoryV2, w, {p, Accumulator::kDirect});
    EXPECT_EQ(v2.matrix_issues, 192);
    EXPECT_EQ(v2.removed_elements, 0);
}

TEST(WorkModel, OnlyAProvedOverwriteGoesWithoutInitialization) {
    ProductWork w{.m = 32, .n = 64, .k = 16, .executions = 1, .recurrence = 1};
    const Realization r{rectangles(32, 64, 16, 32, 1).front(), Accumulator::kDirect};
    EXPECT_EQ(counted(CostBasis::kMppMemoryV3, w, r).initializations, 32);
    w.overwrites = true;
    EXPECT_EQ(counted(CostBasis::kMppMemoryV3, w, r).initializations, 0);
}

TEST(WorkModel, DirectFeaturesAreWhatLoopsOverTheMapCount) {
    for (const uint32_t simdgroups : {1u, 2u, 4u, 8u}) {
        for (const Partition& p : rectangles(64, 64, 8, 8, simdgroups)) {
            const ProductWork w{.m = 64, .n = 64, .k = 24, .executions = 6, .recurrence = 3};
            uint64_t loads = 0, products = 0, stores = 0;
            for (uint64_t e = 0; e < w.executions; ++e) {
                for (uint32_t s = 0; s < simdgroups; ++s) {
                    std::set<uint32_t> rows, columns;
                    for (uint32_t f = 0; f < p.atoms_each(); ++f) {
                        const auto atom = atom_of(p, {s, f});
                        rows.insert(atom->row), columns.insert(atom->column);
                        products += w.k / 8;
                        stores += e % w.recurrence == 0;
                    }
                    loads += (rows.size() + columns.size()) * w.k / 8;
                }
            }
            const Features f = counted(CostBasis::kSimdgroupReference, w, {p, Accumulator::kDirect});
            EXPECT_EQ(f.matrix_issues, double(products));
            EXPECT_EQ(f.input_transfers, double(loads));
            EXPECT_EQ(f.direct_stores, double(stores));
        }
    }
}

TEST(WorkModel, TotalsPast64BitsAndUnevenSizesAreErrors) {
    const Partition p = rectangles(64, 64, 8, 8, 4).front();
    ProductWork w{.m = 64, .n = 64, .k = 64, .executions = uint64_t{1} << 62, .recurrence = 1};
    EXPECT_FALSE(features_of(CostBasis::kSimdgroupReference, w, {p, Accumulator::kShared}));
    w.executions = 4;
    w.recurrence = 3;
    EXPECT_FALSE(features_of(CostBasis::kSimdgroupReference, w, {p, Accumulator::kShared}));
    w.recurrence = 4;
    w.k = 60;
    EXPECT_FALSE(features_of(CostBasis::kSimdgroupReference, w, {p, Accumulator::kShared}));
}

TEST(WorkModel, ProductsCantDoWithoutMoreElementsThanTheGroupHas) {
    ProductWork a, b;
    a.resident_elements = 60, a.direct_elements = 20, b.direct_elements = 20;
    const std::vector<ProductWork> both = {a, b};
    EXPECT_TRUE(check_elements({.independent_elements = 100}, both));
    EXPECT_FALSE(check_elements({.independent_elements = 99}, both));
    a.resident_elements = ~uint64_t{0};
    EXPECT_FALSE(check_elements({.independent_elements = 100}, std::vector<ProductWork>{a, a, b}));
}

TEST(WorkModel, WavesPriceTheWholeDeviceOnce) {
    Costs c = *costs_of("metal-m1");
    c.mpp_concurrent_subgroups = 512;
    EXPECT_EQ(price_group(CostBasis::kMppMemoryV3, {.programs = 64}, 4, c).scale, 1);
    EXPECT_EQ(price_group(CostBasis::kMppMemoryV3, {.programs = 64}, 16, c).scale, 2);
    EXPECT_EQ(price_group(CostBasis::kMppMemoryV3, {.programs = 100}, 8, c).scale, 800.0 / 512);
}

TEST(Costs, EveryTargetHasAFileAndItsTextReadsBack) {
    for (const Target& t : targets()) {
        const auto costs = costs_of(t.name);
        ASSERT_TRUE(costs) << costs.error().describe();
        const auto again = parse_costs(to_text(*costs), "again");
        ASSERT_TRUE(again) << again.error().describe();
        EXPECT_EQ(*again, *costs);
    }
    EXPECT_LT(costs_of("metal-m5")->mpp_matrix_issue, costs_of("metal-m4")->mpp_matrix_issue);
}

TEST(Costs, BadFilesAreRefusedWithTheirLine) {
    const std::string good = to_text(*costs_of("metal-m1"));
    const auto refused = [](const std::string& text) {
        const auto costs = parse_costs(text, "x.costs");
        return costs ? std::string("accepted") : costs.error().describe();
    };
    EXPECT_EQ(refused("mpp_operation -1\n"), "x.costs:1: mpp_operation is -1; 0 and more are accepted");
    EXPECT_EQ(refused("\n# text\nmpp_preferred_scalars 0\n"),
              "x.costs:3: mpp_preferred_scalars is 0; 1 and more are accepted");
    EXPECT_EQ(refused("mpp_operation nan\n"), "x.costs:1: 'nan' for mpp_operation; a number is accepted");
    EXPECT_EQ(refused("mpp_operation 1x\n"), "x.costs:1: '1x' for mpp_operation; a number is accepted");
    EXPECT_EQ(refused("speed 1\n"), "x.costs:1: no cost is called 'speed'");
    EXPECT_EQ(refused(good + "mpp_operation 1\n"), "x.costs:25: mpp_operation for the second time");
    EXPECT_EQ(refused(good.substr(good.find('\n') + 1)), "x.costs: no value for simdgroup_matrix_issue");
    EXPECT_EQ(refused("mpp_operation 1\nlike metal-m1\n"),
              "x.costs:2: 'like' after other lines; it comes first");
    EXPECT_EQ(refused("like metal-m0\n"), "x.costs:1: no costs of a target 'metal-m0'");
}

// Every combination, the way the solver's own order adds.
std::optional<double> least_by_trying(const std::vector<SolverWidth>& widths, uint64_t capacity) {
    std::optional<double> best;
    for (const SolverWidth& w : widths) {
        size_t combinations = 1;
        for (const SolverOperation& op : w.operations) combinations *= op.candidates.size();
        for (size_t i = 0; i < combinations; ++i) {
            double score = 0;
            uint64_t released = 0;
            size_t rest = i;
            for (const SolverOperation& op : w.operations) {
                const SolverCandidate& c = op.candidates[rest % op.candidates.size()];
                rest /= op.candidates.size();
                score += c.score, released += c.released_bytes;
            }
            if (w.shared_bytes - std::min(w.shared_bytes, released) > capacity) continue;
            score = (score + w.common) * w.scale;
            if (!best || score < *best) best = score;
        }
    }
    return best;
}

std::vector<SolverWidth> random_widths(std::mt19937& random) {
    const size_t operations = 1 + random() % 4;
    std::vector<SolverWidth> widths(1 + random() % 4);
    for (size_t i = 0; i < widths.size(); ++i) {
        SolverWidth& w = widths[i];
        w.threads = uint32_t(32 * (i + 1));
        w.common = double(random() % 50);
        w.scale = 1 + double(random() % 4) / 4;
        w.shared_bytes = 64;
        for (uint64_t op = 0; op < operations; ++op) {
            SolverOperation o{op, {}};
            for (uint64_t c = 0, n = random() % 5 + (random() % 20 != 0); c < n; ++c)
                o.candidates.push_back({c, double(random() % 40), random() % 4 * 8});
            w.operations.push_back(std::move(o));
        }
    }
    return widths;
}

TEST(Solver, EqualsTryingEverythingOn2000RandomInstances) {
    std::mt19937 random(2);
    size_t solved = 0, impossible = 0;
    for (int i = 0; i < 2000; ++i) {
        const std::vector<SolverWidth> widths = random_widths(random);
        const uint64_t capacity = random() % 65;
        const auto expected = least_by_trying(widths, capacity);
        const auto found = solve(widths, {.capacity_bytes = capacity});
        ASSERT_EQ(found.has_value(), expected.has_value());
        ++(expected ? solved : impossible);
        if (!expected) continue;
        ASSERT_EQ(found->best.front().score, *expected);
        ASSERT_LE(found->best.front().shared_bytes, capacity);
    }
    EXPECT_GT(solved, 1000u);
    EXPECT_GT(impossible, 100u);
}

TEST(Solver, TheOrderOfTheInputChangesNothing) {
    std::mt19937 random(3);
    for (int i = 0; i < 300; ++i) {
        std::vector<SolverWidth> widths = random_widths(random);
        const uint64_t capacity = random() % 65;
        const auto first = solve(widths, {.capacity_bytes = capacity});
        std::ranges::shuffle(widths, random);
        for (SolverWidth& w : widths) {
            std::ranges::shuffle(w.operations, random);
            for (SolverOperation& op : w.operations) std::ranges::shuffle(op.candidates, random);
        }
        const auto second = solve(widths, {.capacity_bytes = capacity});
        ASSERT_EQ(first.has_value(), second.has_value());
        if (!first) continue;
        ASSERT_EQ(first->best, second->best);
    }
}

TEST(Solver, OneOperationTakesTheSlowerRealizationThatAloneFits) {
    const SolverWidth w{128, 0, 1, 20, {{0, {{0, 10, 0}, {1, 15, 8}}}}};
    EXPECT_EQ(solve({w}, {.capacity_bytes = 20})->best.front().chosen, std::vector<uint64_t>{0});
    EXPECT_EQ(solve({w}, {.capacity_bytes = 16})->best.front().chosen, std::vector<uint64_t>{1});
    const auto none = solve({w}, {.capacity_bytes = 8});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "the least plan needs 12 bytes of threadgroup memory; there are 8");
}

// Each alone would stay with its faster candidate; together they need one of them to release memory, and it
// is the one for which that costs less.
TEST(Solver, TwoOperationsShareTheCapacity) {
    const SolverWidth w{128, 0, 1, 40, {{0, {{0, 10, 0}, {1, 30, 16}}}, {1, {{0, 10, 0}, {1, 14, 16}}}}};
    EXPECT_EQ(solve({w}, {.capacity_bytes = 40})->best.front().chosen, (std::vector<uint64_t>{0, 0}));
    EXPECT_EQ(solve({w}, {.capacity_bytes = 24})->best.front().chosen, (std::vector<uint64_t>{0, 1}));
    EXPECT_EQ(solve({w}, {.capacity_bytes = 8})->best.front().chosen, (std::vector<uint64_t>{1, 1}));
}

TEST(Solver, MoreNumbersOfThreadsThanTheLimitAreAnError) {
    const std::vector<SolverWidth> widths = {{32, 0, 1, 0, {}}, {64, 0, 1, 0, {}}};
    EXPECT_TRUE(solve(widths, {.max_thread_candidates = 2}));
    const auto overrun = solve(widths, {.max_thread_candidates = 1});
    ASSERT_FALSE(overrun);
    EXPECT_EQ(overrun.error().kind, ErrorKind::kLimit);
}

// What 50 ms hold comfortably, as work rather than time: partial plans looked at.
TEST(Solver, EightOperationsAnd32NumbersOfThreadsStaySmall) {
    std::mt19937 random(4);
    std::vector<SolverWidth> widths;
    for (uint32_t threads = 32; threads <= 1024; threads += 32) {
        SolverWidth w{threads, 1, 1, 32768, {}};
        for (uint64_t op = 0; op < 8; ++op) {
            SolverOperation o{op, {}};
            for (uint64_t c = 0; c < 18; ++c)
                o.candidates.push_back({c, double(random() % 100000), random() % 3 * 4096});
            w.operations.push_back(std::move(o));
        }
        widths.push_back(std::move(w));
    }
    const auto solved = solve(widths, {.capacity_bytes = 16384});
    ASSERT_TRUE(solved);
    EXPECT_EQ(solved->counters.widths, 32u);
    EXPECT_EQ(solved->counters.candidates, 32u * 8 * 18);
    EXPECT_LT(solved->counters.states, 80000u);
}

}  // namespace
}  // namespace ingot::tile::testing
