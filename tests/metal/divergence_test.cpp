// Simdgroup functions in divergent code, in Metal source, on both executors: a function covers the lanes that
// a GPU in lockstep has active at the call (lockstep.h), on each side of a branch for itself, round by round
// in a loop.
#include "metal/lockstep.h"
#include "metal/source_support.h"

namespace ingot::metal::testing {
namespace {

// What a kernel computes for one simdgroup: r of each lane from x, given the lanes that there are.
struct Simdgroup {
    Lockstep lanes;
    Lockstep::Values x{}, r{};
};
using Model = std::function<void(Simdgroup&)>;

void expect_lockstep(const std::string& body, const Model& model) {
    const auto library = source_library(
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],\n"
        "  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n"
        "  uint x = in[i]; uint r = 0; threadgroup uint shared[64];\n" +
        body + "\n  out[i] = r;\n}\n");
    const auto kernel = source_kernel(library, "k");
    ASSERT_NE(nullptr, kernel);
    const uint32_t n = 150;
    std::vector<uint32_t> in(n), expected(n);
    std::mt19937 random(11);
    for (uint32_t& value : in) value = random() % 40;
    for (uint32_t first = 0; first < n; first += Lockstep::kWidth) {
        const uint32_t count = std::min(Lockstep::kWidth, n - first);
        Simdgroup simdgroup{Lockstep(count == 32 ? ~0u : (1u << count) - 1)};
        std::copy_n(&in[first], count, simdgroup.x.begin());
        model(simdgroup);
        std::copy_n(simdgroup.r.begin(), count, &expected[first]);
    }
    for (const ExecutorKind kind : {ExecutorKind::kFibers, ExecutorKind::kVector}) {
        std::vector<uint32_t> out(n, 0xDEAD);
        const auto report = Dispatch(kernel).buffer(0, in).buffer(1, out).executor(kind).threads_of_grid(
            {n, 1, 1}, {64, 1, 1});
        ASSERT_EQ(LaunchStatus::kDone, report.status) << report.message;
        EXPECT_EQ(kind, report.executor) << report.refusal;
        EXPECT_EQ(expected, out) << to_string(kind);
    }
}

TEST(Divergence, EachSideOfABranchHasItsOwnMeeting) {
    expect_lockstep(
        "if (x % 3 == 1) r = simd_sum(x) * 100; else r = simd_sum(x) + 1;\n"
        "r += simd_sum(r);",
        [](Simdgroup& s) {
            s.lanes.branch([&](uint32_t l) { return s.x[l] % 3 == 1; },
                           [&] {
                               const uint32_t sum = s.lanes.sum([&](uint32_t l) { return s.x[l]; });
                               s.lanes.set(s.r, [&](uint32_t) { return sum * 100; });
                           },
                           [&] {
                               const uint32_t sum = s.lanes.sum([&](uint32_t l) { return s.x[l]; });
                               s.lanes.set(s.r, [&](uint32_t) { return sum + 1; });
                           });
            const uint32_t all = s.lanes.sum([&](uint32_t l) { return s.r[l]; });
            s.lanes.set(s.r, [&](uint32_t l) { return s.r[l] + all; });
        });
}

TEST(Divergence, DifferentFunctionsOnBothSidesAndAVote) {
    expect_lockstep(
        "if (lane % 3 == 1) { r = simd_sum(lane) * 1000 + "
        "popcount(uint(ulong(simd_active_threads_mask())));\n"
        "  if (simd_is_first()) r += 500000; }\n"
        "else r = simd_max(x) + 100 * simd_broadcast_first(x);",
        [](Simdgroup& s) {
            s.lanes.branch([&](uint32_t l) { return l % 3 == 1; },
                           [&] {
                               const uint32_t sum = s.lanes.sum([](uint32_t l) { return l; });
                               const uint32_t count = s.lanes.sum([](uint32_t) { return 1; });
                               const uint32_t first = s.lanes.first();
                               s.lanes.set(s.r, [&](uint32_t l) {
                                   return sum * 1000 + count + (l == first ? 500000 : 0);
                               });
                           },
                           [&] {
                               const uint32_t largest = s.lanes.max([&](uint32_t l) { return s.x[l]; });
                               const uint32_t first = s.x[s.lanes.first()];
                               s.lanes.set(s.r, [&](uint32_t) { return largest + 100 * first; });
                           });
        });
}

TEST(Divergence, NestedBranchesComeTogetherLevelByLevel) {
    expect_lockstep(
        "if (x % 2 == 0) {\n"
        "  if (x % 3 == 0) r = simd_sum(x); else r = simd_sum(x) * 7;\n"
        "  r += simd_sum(1u) * 1000;\n"
        "} else if (x % 5 == 0) { r = simd_sum(lane); }\n"
        "r += simd_sum(1u) * 100000;",
        [](Simdgroup& s) {
            const auto add = [&](const Lockstep::OfLane& value, uint32_t factor) {
                const uint32_t sum = s.lanes.sum(value);
                s.lanes.set(s.r, [&](uint32_t l) { return s.r[l] + sum * factor; });
            };
            const auto x = [&](uint32_t l) { return s.x[l]; };
            const auto one = [](uint32_t) { return 1u; };
            s.lanes.branch([&](uint32_t l) { return s.x[l] % 2 == 0; },
                           [&] {
                               s.lanes.branch([&](uint32_t l) { return s.x[l] % 3 == 0; }, [&] { add(x, 1); },
                                              [&] { add(x, 7); });
                               add(one, 1000);
                           },
                           [&] {
                               s.lanes.branch([&](uint32_t l) { return s.x[l] % 5 == 0; },
                                              [&] { add([](uint32_t l) { return l; }, 1); });
                           });
            add(one, 100000);
        });
}

// j counts the rounds of every lane in step.
struct Counted {
    Simdgroup& s;
    Lockstep::Values j{};
    void loop(const Lockstep::OfLane& end, const Lockstep::Body& body) {
        s.lanes.set(j, [](uint32_t) { return 0; });
        s.lanes.loop([&](uint32_t l) { return j[l] < end(l); }, body,
                     [&] { s.lanes.set(j, [&](uint32_t l) { return j[l] + 1; }); });
    }
    void add(uint32_t value) {
        s.lanes.set(s.r, [&](uint32_t l) { return s.r[l] + value; });
    }
};

TEST(Divergence, ALoopOfDifferentTripCountsMeetsWhoIsStillInIt) {
    expect_lockstep(
        "for (uint j = 0; j < x; ++j) {\n"
        "  uint leader = ctz(uint(ulong(simd_active_threads_mask())));\n"
        "  r = r * 3 + simd_shuffle(r + lane, ushort(leader)) + simd_sum(j);\n"
        "}\n"
        "r += simd_max(x);",
        [](Simdgroup& s) {
            Counted c{s};
            c.loop([&](uint32_t l) { return s.x[l]; },
                   [&] {
                       const uint32_t leader = s.lanes.first(), from = s.r[leader] + leader;
                       const uint32_t sum = s.lanes.sum([&](uint32_t l) { return c.j[l]; });
                       s.lanes.set(s.r, [&](uint32_t l) { return s.r[l] * 3 + from + sum; });
                   });
            c.add(s.lanes.max([&](uint32_t l) { return s.x[l]; }));
        });
}

TEST(Divergence, LanesThatSkipAFunctionDoNotGetARoundAhead) {
    expect_lockstep(
        "for (uint j = 0; j < 6; ++j) { if ((x >> j & 1) != 0) r += simd_sum(j * 100 + lane); }",
        [](Simdgroup& s) {
            Counted c{s};
            c.loop([](uint32_t) { return 6; },
                   [&] {
                       s.lanes.branch(
                           [&](uint32_t l) { return s.x[l] >> c.j[l] & 1; },
                           [&] { c.add(s.lanes.sum([&](uint32_t l) { return c.j[l] * 100 + l; })); });
                   });
        });
}

TEST(Divergence, RoundsStayInStepAcrossContinueBreakAndReturn) {
    expect_lockstep(
        "for (uint j = 0; j < 12; ++j) {\n"
        "  if ((x + j) % 4 == 1) continue;\n"
        "  r += simd_sum(j + 1);\n"
        "  if ((x + j) % 13 == 7) break;\n"
        "  if ((x + j) % 3 == 0) r += simd_sum(lane) * 2; else { r ^= simd_max(x); if (x == 5) { out[i] = r; "
        "return; } }\n"
        "}\n"
        "r += simd_sum(r);",
        [](Simdgroup& s) {
            Counted c{s};
            const auto sum_j = [&](uint32_t l) { return s.x[l] + c.j[l]; };
            c.loop([](uint32_t) { return 12; },
                   [&] {
                       s.lanes.continue_if([&](uint32_t l) { return sum_j(l) % 4 == 1; });
                       c.add(s.lanes.sum([&](uint32_t l) { return c.j[l] + 1; }));
                       s.lanes.break_if([&](uint32_t l) { return sum_j(l) % 13 == 7; });
                       s.lanes.branch([&](uint32_t l) { return sum_j(l) % 3 == 0; },
                                      [&] { c.add(2 * s.lanes.sum([](uint32_t l) { return l; })); },
                                      [&] {
                                          const uint32_t most =
                                              s.lanes.max([&](uint32_t l) { return s.x[l]; });
                                          s.lanes.set(s.r, [&](uint32_t l) { return s.r[l] ^ most; });
                                          s.lanes.return_if([&](uint32_t l) { return s.x[l] == 5; });
                                      });
                   });
            c.add(s.lanes.sum([&](uint32_t l) { return s.r[l]; }));
        });
}

TEST(Divergence, InnerLoopsOfDifferentTripCountsKeepTheOuterOneInStep) {
    expect_lockstep(
        "for (uint j = 0; j < 5; ++j) for (uint m = 0; m < (x + j) % 4; ++m) r += simd_sum(j * 64 + m * 8 + "
        "1);",
        [](Simdgroup& s) {
            Counted outer{s}, inner{s};
            outer.loop([](uint32_t) { return 5; },
                       [&] {
                           inner.loop([&](uint32_t l) { return (s.x[l] + outer.j[l]) % 4; },
                                      [&] {
                                          outer.add(s.lanes.sum([&](uint32_t l) {
                                              return outer.j[l] * 64 + inner.j[l] * 8 + 1;
                                          }));
                                      });
                       });
        });
}

TEST(Divergence, LoopsOnBothSidesOfABranchAndAnEarlyReturn) {
    expect_lockstep(
        "if (x % 7 == 3) { out[i] = simd_sum(x); return; }\n"
        "if (x % 2 == 0) { for (uint j = 0; j < x; ++j) r += simd_sum(j); }\n"
        "else { uint j = 0; while (j < lane) { r += simd_max(j + x); ++j; } }\n"
        "r += simd_sum(1u) * 1000000;",
        [](Simdgroup& s) {
            Counted c{s};
            s.lanes.branch([&](uint32_t l) { return s.x[l] % 7 == 3; },
                           [&] {
                               const uint32_t sum = s.lanes.sum([&](uint32_t l) { return s.x[l]; });
                               s.lanes.set(s.r, [&](uint32_t) { return sum; });
                               s.lanes.return_if([](uint32_t) { return 1; });
                           });
            s.lanes.branch([&](uint32_t l) { return s.x[l] % 2 == 0; },
                           [&] {
                               c.loop([&](uint32_t l) { return s.x[l]; },
                                      [&] { c.add(s.lanes.sum([&](uint32_t l) { return c.j[l]; })); });
                           },
                           [&] {
                               c.loop(
                                   [](uint32_t l) { return l; },
                                   [&] { c.add(s.lanes.max([&](uint32_t l) { return c.j[l] + s.x[l]; })); });
                           });
            c.add(1000000 * s.lanes.sum([](uint32_t) { return 1; }));
        });
}

TEST(Divergence, CasesOfASwitchMeetByThemselvesAndFallThroughTogether) {
    expect_lockstep(
        "switch (x % 5) {\n"
        "  case 0: r = simd_sum(x);\n"
        "  case 1: r += simd_sum(1u) * 1000; break;\n"
        "  case 3: r = simd_sum(lane) * 3; break;\n"
        "  default: r = simd_max(x);\n"
        "}\n"
        "r += simd_sum(r);",
        [](Simdgroup& s) {
            Counted c{s};
            const auto kind = [&](uint32_t l) { return s.x[l] % 5; };
            s.lanes.branch([&](uint32_t l) { return kind(l) == 0; },
                           [&] { c.add(s.lanes.sum([&](uint32_t l) { return s.x[l]; })); });
            s.lanes.branch([&](uint32_t l) { return kind(l) < 2; },
                           [&] { c.add(1000 * s.lanes.sum([](uint32_t) { return 1; })); });
            s.lanes.branch([&](uint32_t l) { return kind(l) == 3; },
                           [&] { c.add(3 * s.lanes.sum([](uint32_t l) { return l; })); });
            s.lanes.branch([&](uint32_t l) { return kind(l) == 2 || kind(l) == 4; },
                           [&] { c.add(s.lanes.max([&](uint32_t l) { return s.x[l]; })); });
            c.add(s.lanes.sum([&](uint32_t l) { return s.r[l]; }));
        });
}

// An optimiser may join two branches on one condition, but not by copying what lies between them to both
// sides.
TEST(Divergence, AFunctionBetweenTwoBranchesOnOneConditionStaysOne) {
    expect_lockstep(
        "if (x % 3 == 1) r = 7;\n"
        "r += simd_sum(x);\n"
        "if (x % 3 == 1) r += 1000;",
        [](Simdgroup& s) {
            Counted c{s};
            const auto condition = [&](uint32_t l) { return s.x[l] % 3 == 1; };
            s.lanes.branch(condition, [&] { c.add(7); });
            c.add(s.lanes.sum([&](uint32_t l) { return s.x[l]; }));
            s.lanes.branch(condition, [&] { c.add(1000); });
        });
}

TEST(Divergence, ABarrierWaitsForLanesThatStillMeet) {
    expect_lockstep(
        "uint at = i % 64;\n"
        "for (uint j = 0; j < 3; ++j) {\n"
        "  if ((x >> j & 1) != 0) r += simd_sum(x); else r += 1;\n"
        "  shared[at] = r;\n"
        "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "  r += shared[at ^ 1];\n"
        "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "}",
        [](Simdgroup& s) {
            Counted c{s};
            c.loop([](uint32_t) { return 3; },
                   [&] {
                       s.lanes.branch([&](uint32_t l) { return s.x[l] >> c.j[l] & 1; },
                                      [&] { c.add(s.lanes.sum([&](uint32_t l) { return s.x[l]; })); },
                                      [&] { c.add(1); });
                       const Lockstep::Values shared = s.r;
                       s.lanes.set(s.r, [&](uint32_t l) { return s.r[l] + shared[l ^ 1]; });
                   });
        });
}

}  // namespace
}  // namespace ingot::metal::testing
