// Control flow that lanes take apart: programs of a small language (structured/program.h) on both
// executors against a lockstep interpreter of the language, exactly. Directed ones, each a shape of control
// flow with a name, and random ones.
//
// A test run spends a few seconds on them: directed programs take turns in the shapes of a launch, and a few
// random ones run. INGOT_STRUCTURED_KERNELS asks for more: so many random ones, and the directed ones in
// every shape. INGOT_STRUCTURED_SEED is the first random one's seed; without it each run takes others, and
// says which.
#include <cstdlib>
#include <optional>
#include <span>

#include "metal/structured/program.h"
#include "metal/support.h"

namespace ingot::metal::testing {
namespace {

using structured::Block;
using structured::kBins;
using structured::kVariables;
using structured::Outcome;

struct LaunchShape {
    Size3 group;
    uint32_t groups;
};

// One thread to several simdgroups, whole ones and not, groups whose width is no multiple of 32.
constexpr LaunchShape kLaunchShapes[] = {{{32, 1, 1}, 1}, {{64, 1, 1}, 2}, {{1, 1, 1}, 1},
                                         {{33, 1, 1}, 2}, {{10, 3, 1}, 2}, {{4, 4, 5}, 1}};
constexpr uint32_t kUniform = 23;

std::vector<uint32_t> inputs_for(uint32_t threads, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint32_t> inputs(threads);
    for (uint32_t& input : inputs) input = random() % 50;
    return inputs;
}

Outcome run(const std::shared_ptr<const Kernel>& kernel, const LaunchShape& shape,
            const std::vector<uint32_t>& inputs, ExecutorKind executor) {
    const size_t threads = inputs.size();
    std::vector<uint32_t> in = inputs, sizes{kUniform, uint32_t(shape.group.count())};
    Outcome outcome{std::vector<uint32_t>(threads * kVariables, 0xDEAD), std::vector<uint32_t>(threads),
                    std::vector<uint32_t>(kBins)};
    const auto report = Dispatch(kernel)
                            .buffer(0, in)
                            .buffer(1, outcome.variables)
                            .buffer(2, outcome.logs)
                            .buffer(3, outcome.bins)
                            .buffer(4, sizes)
                            .executor(executor)
                            .time_limit(10)
                            .groups({shape.groups, 1, 1}, shape.group);
    EXPECT_EQ(LaunchStatus::kDone, report.status) << report.message;
    EXPECT_EQ(executor, report.executor) << report.refusal;
    return outcome;
}

// What the interpreter makes of each threadgroup, one behind the other.
Outcome expected_outcome(const Block& program, const LaunchShape& shape,
                         const std::vector<uint32_t>& inputs) {
    Outcome all{{}, {}, std::vector<uint32_t>(kBins)};
    const auto size = ptrdiff_t(shape.group.count());
    for (uint32_t group = 0; group < shape.groups; ++group) {
        const auto begin = inputs.begin() + ptrdiff_t(group) * size;
        const Outcome one = structured::interpret(program, {begin, begin + size}, kUniform);
        all.variables.insert(all.variables.end(), one.variables.begin(), one.variables.end());
        all.logs.insert(all.logs.end(), one.logs.begin(), one.logs.end());
        for (uint32_t i = 0; i < kBins; ++i) all.bins[i] += one.bins[i];
    }
    return all;
}

// The first thing that differs, in words.
std::string difference(const Outcome& expected, const Outcome& actual) {
    for (size_t i = 0; i < expected.variables.size(); ++i) {
        if (expected.variables[i] == actual.variables[i]) continue;
        return fmt::format("variable {} of thread {} is {} instead of {}", char('a' + i % kVariables),
                           i / kVariables, actual.variables[i], expected.variables[i]);
    }
    for (size_t i = 0; i < expected.logs.size(); ++i) {
        if (expected.logs[i] != actual.logs[i]) return fmt::format("thread {} logged something else", i);
    }
    return expected.bins == actual.bins ? "" : "the bins' counts differ";
}

// False (and a failed test) if an executor does something else than the interpreter.
bool agrees(const Block& program, std::span<const LaunchShape> shapes) {
    const auto kernel = text_kernel(structured::to_kernel(program));
    if (kernel == nullptr) return false;
    for (const LaunchShape& shape : shapes) {
        const auto inputs = inputs_for(uint32_t(shape.group.count()) * shape.groups, 7);
        const Outcome expected = expected_outcome(program, shape, inputs);
        for (const ExecutorKind executor : {ExecutorKind::kVector, ExecutorKind::kFibers}) {
            const std::string what = difference(expected, run(kernel, shape, inputs, executor));
            if (what.empty()) continue;
            ADD_FAILURE() << to_string(executor) << ", groups of " << shape.group.x << " x " << shape.group.y
                          << " x " << shape.group.z << ": " << what << "\n"
                          << structured::print(program);
            return false;
        }
    }
    return true;
}

struct Directed {
    const char* name;
    const char* program;
};

constexpr Directed kDirected[] = {
    // --- branches
    {"if", "a = 1; if (x & 1) { a = 2; }"},
    {"if else", "if (x & 1) { a = x; } else { a = t; }"},
    {"if else if else", "if (x % 3 == 0) { a = 1; } else if (x % 3 == 1) { a = x; } else { a = l; }"},
    {"nested ifs",
     "if (x & 1) { if (x & 2) { a = 1; } else { a = 2; } b = a; } else { if (x & 4) { a = 3; } }"},
    {"an empty side", "if (x & 1) { } else { a = 7; } b = a;"},
    {"a branch nobody takes", "if (1000 < x) { a = 1; log(1); } b = 2;"},
    {"a branch all take", "if (x < 1000) { a = x; } else { a = 99; }"},
    {"a branch by lane", "if (l < 16) { a = x; } else { a = x * 2; }"},
    {"a branch by simdgroup", "if (t < 32) { a = simd_sum(x); } else { a = simd_max(x); }"},
    {"a uniform branch", "if (u < 40) { a = x; } else { a = t; }"},
    {"a uniform branch inside a divergent one", "if (x & 1) { if (u < 40) { a = x; } else { a = t; } }"},
    {"a divergent branch inside a uniform one", "if (u < 40) { if (x & 1) { a = x; } } else { a = 9; }"},
    {"values of both sides meet", "if (x & 1) { a = x * 2; b = 5; } else { a = t; b = l; } c = a + b;"},
    {"a value one side leaves alone", "a = t; if (x & 1) { a = x; } if (x & 2) { b = a; }"},
    {"three branches in a row", "if (x & 1) { a += 1; } if (x & 2) { a += 2; } if (x & 4) { a += 4; }"},
    {"two variables swapped under a mask", "a = x; b = t; if (x & 1) { c = a; a = b; b = c; }"},
    {"memory under a mask", "if (x & 1) { log(x); } else { log(t); } if (x & 2) { log(3); }"},
    {"bins under a mask", "if (x & 1) { count(x); } count(t);"},
    {"a private array under a mask", "p[x] = t; if (x & 1) { p[t] = x; } a = p[3]; b = p[x + 1];"},
    // --- loops
    {"as many rounds as the input says", "while (k < x % 9) { a += k + t; }"},
    {"a loop without a round for some", "while (k < x % 2) { a += 1; } b = a;"},
    {"a uniform loop", "while (k < u % 7) { a += x; }"},
    {"do while", "do { a += k; } while (k < x % 6);"},
    {"nested divergent loops", "while (k < x % 5) { b = k; while (k < (t + b) % 6) { a = a * 3 + k; } }"},
    {"a divergent loop in a uniform one", "while (k < u % 5) { while (k < x % 4) { a += k * t; } b += a; }"},
    {"a uniform loop in a divergent one", "while (k < x % 5) { while (k < u % 4) { a += k * t; } b += a; }"},
    {"break", "while (k < 10) { if (x % 7 == k) { break; } a += 1; }"},
    {"break behind work", "while (k < 10) { a += t; if (a % 11 < x % 5) { b = k; break; } a += 1; }"},
    {"continue", "while (k < 10) { if ((x + k) % 3 == 0) { continue; } a += k; }"},
    {"break and continue",
     "while (k < 12) { if ((x + k) % 4 == 1) { continue; } if (a % 9 == 8) { break; } a += k; }"},
    {"break at both levels",
     "while (k < 6) { b = k; while (k < 8) { if ((x + k) % 5 == b) { break; } a += 1; } if (a % 7 == 3) { "
     "break; } }"},
    {"continue at both levels",
     "while (k < 6) { b = k; if ((t + k) % 4 == 0) { continue; } while (k < 8) { if ((x + k) % 3 == b % 3) { "
     "continue; } a += k; } c += a; }"},
    {"a loop left at three places",
     "while (k < 12) { if (x % 9 == k) { a = 1; break; } b += 1; if (t % 10 == k) { a = 2; break; } c += 1; "
     "if (b % 5 == 4) { a = 3; break; } }"},
    {"breaks that only some simdgroups take", "while (k < 8) { if (t < 32 & k == 3) { break; } a += 1; }"},
    {"a uniform break in a divergent loop", "while (k < x % 9) { if (u % 5 == k) { break; } a += t; }"},
    {"a divergent break in a uniform loop", "while (k < u % 11) { if (x % 8 == k) { break; } a += t; }"},
    {"do while with continue", "do { if ((x + k) % 2 == 0) { continue; } a += k; } while (k < x % 8);"},
    {"do while with break", "do { if (x % 6 == k) { break; } a += k; } while (k < 9);"},
    {"a loop in each side of a branch",
     "if (x & 1) { while (k < x % 6) { a += k; } } else { while (k < t % 4) { a += 2; } }"},
    {"a branch in a loop in a branch",
     "if (x & 1) { while (k < 7) { if (x & 2) { a += k; } else { b += k; } } }"},
    {"two loops in a row", "while (k < x % 6) { a += k; } while (k < a % 7) { b += t; }"},
    {"values cross from loop to loop",
     "a = x; while (k < 9) { b = a; a = c + x; c = b; if (a % 13 == 5) { break; } }"},
    {"phis that trade places", "a = x; b = t; while (k < x % 7) { c = a; a = b; b = c; }"},
    {"a value from a round that others didn't have", "while (k < x % 8) { a = k * t; } b = a;"},
    {"three loops deep",
     "while (k < x % 3) { b = k; while (k < t % 3) { c = k; while (k < (x + b + c) % 4) { a += 1; } } }"},
    {"a loop that a switch steers",
     "while (k < 9) { switch ((x + k) % 4) { case 0: a += 1; case 1: b += 1; break; case 2: continue; "
     "default: c += 1; } d += 1; }"},
    {"a loop under three masks",
     "if (x & 1) { if (t & 1) { if (x & 4) { while (k < x % 9) { a += k; } } b = a; } c = 3; }"},
    // --- switch
    {"a switch",
     "switch (x % 4) { case 0: a = 1; break; case 1: a = x; break; case 2: a = t; break; default: a = 9; }"},
    {"a switch with fall through",
     "switch (x % 5) { case 0: a += 1; case 1: a += 10; case 2: a += 100; break; case 3: a = 7; }"},
    {"default in the middle",
     "switch (x % 5) { case 0: a += 1; break; default: a += 10; case 3: a += 100; }"},
    {"a switch without default", "a = 3; switch (x % 9) { case 2: a = x; break; case 5: a = t; }"},
    {"a uniform switch", "switch (u % 4) { case 3: a = x; break; default: a = t; }"},
    {"a switch in a switch",
     "switch (x % 3) { case 0: switch (t % 3) { case 1: a = 1; break; default: a = 2; } b = 1; break; case "
     "1: b = x; }"},
    {"a loop in a switch",
     "switch (x % 3) { case 0: while (k < t % 5) { a += k; if (a % 4 == 3) { break; } } b = 1; case 1: b += "
     "x; }"},
    // --- return
    {"early return", "a = 1; if (x < 20) { return; } a = x;"},
    {"return from a loop", "while (k < 9) { if (x % 8 == k) { b = k; return; } a += 1; } c = 5;"},
    {"return from two loops",
     "while (k < 5) { b = k; while (k < 6) { if ((x + k) % 7 == b) { return; } a += 1; } } c = 5;"},
    {"return from a switch", "switch (x % 3) { case 0: a = 1; return; case 1: a = 2; } b = 3;"},
    {"everybody returns at different places",
     "if (x & 1) { a = 1; return; } if (x & 2) { a = 2; return; } while (k < 5) { if (x % 5 == k) { return; "
     "} a += 1; } return;"},
    {"nobody is left", "if (x < 1000) { a = 4; return; } b = simd_sum(1);"},
    // --- simdgroup functions under masks
    {"a sum of those who are there", "if (x & 1) { a = simd_sum(x); } b = simd_sum(t);"},
    {"sums of both sides", "if (x & 1) { a = simd_sum(1); } else { a = simd_sum(100); }"},
    {"a sum in each round of a divergent loop", "while (k < x % 7) { a += simd_sum(1); }"},
    {"a sum behind a break",
     "while (k < 9) { if (x % 6 == k) { break; } a += simd_sum(1); } b = simd_sum(a);"},
    {"a sum behind a continue", "while (k < 6) { if ((x + k) % 3 == 0) { continue; } a += simd_sum(1); }"},
    {"a sum behind a return", "if (x % 4 == 0) { return; } a = simd_sum(1);"},
    {"a sum in a loop's condition", "while (k < simd_sum(1) % (x + 1)) { a += 1; }"},
    {"a vote that ends a loop for all", "while (simd_any(a < x % 8)) { a += 1; }"},
    {"ballot, prefix, first",
     "if (x % 3 != 0) { a = simd_ballot(x & 1); b = simd_prefix(x); c = simd_first(x); }"},
    {"all and any of a few", "if (x % 5 == 0) { a = simd_all(x & 1) + 2 * simd_any(x & 1); }"},
    {"a neighbour that may be idle", "if (x % 3 != 0) { a = simd_xor(x, 1); b = simd_xor(t, 16); }"},
    {"a function in a case that others fall into",
     "switch (x % 3) { case 0: a = simd_sum(1); case 1: b = simd_sum(1); break; default: c = simd_sum(1); }"},
    // --- barriers
    {"a barrier in a uniform loop", "while (k < u % 5) { a = exchange(x + k, 1); b += a; }"},
    {"a barrier behind a divergent loop", "while (k < x % 6) { a += k; } b = exchange(a, 5);"},
    {"barriers between branches",
     "if (x & 1) { a = x; } b = exchange(a, 3); if (b & 1) { a = b; } c = exchange(a, 7);"},
};

// A number from the environment, where there is one.
std::optional<uint32_t> number_from(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional(uint32_t(std::strtoul(text, nullptr, 10)));
}

const std::optional<uint32_t> kWanted = number_from("INGOT_STRUCTURED_KERNELS");

TEST(StructuredKernels, DirectedOnesAreThoseOfTheInterpreter) {
    EXPECT_GE(std::size(kDirected), 60u);
    size_t number = 0;
    for (const Directed& directed : kDirected) {
        SCOPED_TRACE(directed.name);
        const std::span<const LaunchShape> shapes(kLaunchShapes);
        agrees(structured::parse(directed.program),
               kWanted ? shapes : shapes.subspan(number++ % shapes.size(), 1));
    }
}

TEST(StructuredKernels, RandomOnesAreThoseOfTheInterpreter) {
    const uint32_t count = kWanted.value_or(8);
    const uint32_t first = number_from("INGOT_STRUCTURED_SEED").value_or(std::random_device()() % 1000000);
    uint32_t failed = 0;
    fmt::print("{} random programs from INGOT_STRUCTURED_SEED={} on\n", count, first);
    for (uint32_t seed = first; seed < first + count && failed < 3; ++seed) {
        SCOPED_TRACE("INGOT_STRUCTURED_SEED=" + std::to_string(seed));
        const Block program =
            structured::generate(seed, {.simdgroup_functions = seed % 2 == 0, .exchanges = seed % 3 == 0});
        const LaunchShape shapes[] = {kLaunchShapes[seed % std::size(kLaunchShapes)], kLaunchShapes[1]};
        failed += !agrees(program, shapes);
    }
    RecordProperty("kernels", int(count));
}

// What the language means, by hand: the interpreter is what everything else is compared with.
TEST(StructuredKernels, TheInterpreterMovesThreadsInLockstep) {
    const auto of = [](const char* text, std::vector<uint32_t> inputs) {
        return structured::interpret(structured::parse(text), inputs, kUniform);
    };
    const auto a = [](const Outcome& outcome) {
        std::vector<uint32_t> values;
        for (size_t i = 0; i < outcome.variables.size(); i += kVariables)
            values.push_back(outcome.variables[i]);
        return values;
    };
    using Values = std::vector<uint32_t>;
    EXPECT_EQ((Values{7, 2 + 3 * 4}), a(of("if (x & 1) { a = 7; } else { a = x + 3 * 4; }", {1, 2})));
    EXPECT_EQ((Values{4, 2, 4}),
              a(of("if (x & 1) { a = simd_sum(x); } else { a = simd_sum(x); }", {1, 2, 3})));
    EXPECT_EQ((Values{3, 5, 6}), a(of("while (k < x) { a += simd_sum(1); }", {1, 2, 3})));
    EXPECT_EQ((Values{0, 1, 12}), a(of("while (1) { if (k == x) { break; } a += 1; }", {0, 1, 99})));
    EXPECT_EQ((Values{11, 10, 0}),
              a(of("switch (x) { case 0: a += 1; case 1: a += 10; break; case 2: a = 5; }", {0, 1, 3})));
    EXPECT_EQ((Values{2, 3, 1}), a(of("a = exchange(x, 1);", {1, 2, 3})));
    EXPECT_EQ(0u, of("if (x) { return; } log(5);", {1}).logs[0]);
    EXPECT_EQ(5u, of("if (x) { return; } log(5);", {0}).logs[0]);
    EXPECT_EQ(2u, of("count(x);", {3, 3}).bins[3]);
}

TEST(StructuredKernels, APrintedProgramReadsBackAsTheSame) {
    for (uint32_t seed = 0; seed < 50; ++seed) {
        const std::string text = structured::print(structured::generate(seed, {}));
        EXPECT_EQ(text, structured::print(structured::parse(text)));
    }
}

}  // namespace
}  // namespace ingot::metal::testing
