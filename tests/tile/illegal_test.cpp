// Programs that mean nothing, or that a target can't run, are refused: with the place, what was observed and
// what is accepted. Nothing is ever replaced by an empty kernel or zeros.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile/api/compile.h"
#include "tile/ir/interpret.h"
#include "tile/ir/parse.h"
#include "tile/ir/verify.h"

namespace ingot::tile {
namespace {

using ::testing::HasSubstr;

// The error of parsing, verifying or compiling a kernel with this body.
Error refusal(const std::string& body, const CompileOptions& options = {}) {
    const auto k = parse("kernel k {\n" + body + "}\n", "k.tile");
    if (!k) return k.error();
    const auto compiled = compile(*k, options);
    EXPECT_FALSE(compiled) << body << "\n" << (compiled ? compiled->source : "");
    return compiled ? Error{} : compiled.error();
}

struct Illegal {
    const char *name, *body, *where, *message;
};

void PrintTo(const Illegal& i, std::ostream* out) {
    *out << i.name;
}

class IllegalProgram : public ::testing::TestWithParam<Illegal> {};

TEST_P(IllegalProgram, IsRefusedWithItsPlaceAndWhatIsAccepted) {
    const Error e = refusal(GetParam().body);
    EXPECT_THAT(e.where, HasSubstr(GetParam().where)) << e.describe();
    EXPECT_THAT(e.message, HasSubstr(GetParam().message)) << e.describe();
}

constexpr Illegal kIllegal[] = {
    {"TooMuchThreadgroupMemory",
     "  out C: f32[4]\n  shared big: f32[128, 60]\n  shared small: f32[64, 32]\n  fill big = 0.0\n  fill "
     "small = 0.0\n  copy C = big[0, 0 : 4]\n",
     "k.tile:3",
     "38912 bytes of threadgroup memory; metal-m4 has 32768. The largest: big 30720, small 8192 bytes"},
    {"BadTileShape",
     "  in A: f16[64, 64]\n  in B: f16[64, 64]\n  fragment c: f32[64, 32]\n  gemm c = A @ B\n", "k.tile:5",
     "[M, K] @ [K, N] into [M, N] is accepted"},
    {"IndexProvablyOutOfBounds",
     "  out C: f32[8]\n  shared s: f32[8]\n  parallel i < 8 {\n    s[8] = 0.0\n  }\n", "k.tile:5",
     "8 is outside of s: dimension 0 goes from 0 to 7"},
    {"RegionProvablyOutOfBounds", "  in A: f32[8, 8]\n  shared s: f32[4, 8]\n  copy s = A[8 : 4, 0 : 8]\n",
     "k.tile:4", "8 is outside of A: dimension 0 goes from 0 to 7"},
    {"SharedRegionPastItsEnd", "  in A: f32[8]\n  shared s: f32[8]\n  copy s[4 : 8] = A\n", "k.tile:4",
     "4 goes from 4 to 11"},
    {"WrongRank", "  in A: f32[8, 8]\n  out C: f32[8]\n  parallel i < 8 {\n    C[i] = A[i]\n  }\n",
     "k.tile:5", "A has 2 dimensions, 1 indices are given"},
    {"CopyOfAnotherSize", "  in A: f32[8]\n  shared s: f32[4]\n  copy s = A\n", "k.tile:4",
     "s is [4], A is [8]; equal sizes are accepted"},
    {"TypeMismatchInStore", "  in A: f16[8]\n  out C: f32[8]\n  parallel i < 8 {\n    C[i] = A[i]\n  }\n",
     "k.tile:5", "the value is A[i] of type f16; f32 is accepted"},
    {"TypeMismatchInGemm",
     "  in A: f16[8, 8]\n  in B: f32[8, 8]\n  fragment c: f32[8, 8]\n  gemm c = A @ B\n", "k.tile:5",
     "A holds f16, B holds f32; equal types are accepted"},
    {"WriteToAnInput", "  in A: f32[8]\n  fill A = 0.0\n", "k.tile:3",
     "a write to the input A; an output, or `inout`, is accepted"},
    {"ReadOfAnOutput", "  out C: f32[8]\n  shared s: f32[8]\n  copy s = C\n", "k.tile:4",
     "a read of the output C"},
    {"AccumulateIntoAnOutput", "  in A: f16[8, 8]\n  out C: f32[8, 8]\n  gemm C += A @ A\n", "k.tile:4",
     "a read of the output C"},
    {"BarrierInDivergentFlow", "  parallel i < 8 {\n    barrier\n  }\n", "k.tile:3",
     "a barrier in divergent flow"},
    {"TileOperationInParallel", "  out C: f32[8]\n  parallel i < 8 {\n    fill C = 0.0\n  }\n", "k.tile:4",
     "accepted at group level"},
    {"StoreAtGroupLevel", "  out C: f32[8]\n  C[0] = 1.0\n", "k.tile:3", "accepted inside of `parallel`"},
    {"TooManyThreads", "  threads 1025\n", "k.tile:2", "1 to 1024 are accepted"},
    {"UnknownSymbol", "  out C: f32[8]\n  parallel i < 8 {\n    C[i] = x\n  }\n", "k.tile:4",
     "unknown name 'x'"},
    {"CyclicCarries", "  for i < 4 carry a: i32 = b -> x, b: i32 = a -> y {\n    yield b, a\n  }\n",
     "k.tile:2", "must start from what is known before the loop"},
    {"CarriesWithoutYield", "  for i < 4 carry a: i32 = 0 -> x {\n    let y = a\n  }\n", "k.tile:2",
     "carries 1 values and yields none"},
    {"YieldOfAnotherCount", "  for i < 4 carry a: i32 = 0 -> x {\n    yield a, a\n  }\n", "k.tile:3",
     "a yield of 2 values; the loop carries 1"},
    {"YieldOutsideOfALoop", "  yield 1\n", "k.tile:2", "a yield outside of such a loop"},
    {"AllocationOfUnknownSize", "  dim n\n  shared s: f32[n]\n", "k.tile:3", "a constant from 1 on"},
    {"LocalAtGroupLevel", "  local t: f32[4]\n", "k.tile:2", "local memory at group level"},
    {"SharedInParallel", "  parallel i < 4 {\n    shared t: f32[4]\n  }\n", "k.tile:3",
     "accepted at group level"},
    {"TooMuchLocalMemory",
     "  out C: f32[4]\n  parallel i < 4 {\n    local small: f32[64]\n    for j < 2 {\n      local big: "
     "f32[4096]\n      big[0] = 1.0\n    }\n    small[0] = 1.0\n  }\n",
     "k.tile:6",
     "16640 bytes of local memory in an iteration; 16384 are accepted. The largest: big 16384, small 256 "
     "bytes"},
    {"HugeLocalMemory", "  parallel i < 4 {\n    local t: f32[100000000]\n    t[0] = 1.0\n  }\n", "k.tile:3",
     "400000000 bytes of local memory"},
    {"AtomicAddToHalf", "  inout H: f16[4]\n  parallel i < 4 {\n    atomic_add H[i] += 1.0\n  }\n",
     "k.tile:4", "i32, u32 and f32 are accepted"},
    {"AtomicAddToSharedFloat",
     "  shared h: f32[4]\n  fill h = 0.0\n  parallel i < 4 {\n    atomic_add h[i] += 1.0\n  }\n", "k.tile:5",
     "f32 in shared memory, which Metal hasn't"},
    {"ReductionAxis", "  in A: f32[4, 8]\n  fragment s: f32[4]\n  reduce s = sum(A, 2)\n", "k.tile:4",
     "0 to 1 are accepted"},
    {"ReductionSize", "  in A: f32[4, 8]\n  fragment s: f32[4]\n  reduce s = sum(A, 0)\n", "k.tile:4",
     "[4, 8] without axis 0"},
    {"SwizzleOfOneDimension", "  grid bx < 4\n  swizzle row 2\n", "k.tile", "2 are accepted"},
    {"MlxPanel", "  grid bx < 4, by < 4\n  swizzle mlx 3\n", "k.tile", "a power of 2"},
    {"ConditionOfAnotherType", "  if 3 {\n    barrier\n  }\n", "k.tile:2",
     "the condition is 3 of type i32; bool is accepted"},
    {"ShuffleInABranch",
     "  out C: f32[32]\n  parallel i < 32 {\n    if i < 7 {\n      let v = shuffle(f32(i), 0)\n      C[i] = "
     "v\n    "
     "}\n  }\n",
     "k.tile:5", "not every iteration comes to this shuffle; it is accepted in a `let` directly inside"},
    {"ShuffleInAnArmOfSelect",
     "  out C: f32[32]\n  parallel i < 32 {\n    let v = select(i < 7, shuffle(f32(i), 0), 1.0)\n    C[i] = "
     "v\n  }\n",
     "k.tile:4", "outside of what select, && and || leave out"},
    {"ShuffleInAStore", "  out C: f32[32]\n  parallel i < 32 {\n    C[i] = shuffle(f32(i), 0)\n  }\n",
     "k.tile:4", "it is accepted in a `let`"},
    {"ShuffleOfAnIndexAtGroupLevel", "  grid b < 4\n  let v = shuffle(b, 0)\n", "k.tile:3",
     "it is accepted in a `let` directly inside of `parallel`"},
    {"ShuffleAmong24Iterations",
     "  out C: f32[24]\n  parallel i < 24 {\n    let v = shuffle(f32(i), 0)\n    C[i] = v\n  }\n", "k.tile:4",
     "a shuffle among 24 iterations; a last extent that is a multiple of 32 is accepted"},
    {"ShuffleWithPartOfASimdgroup",
     "  threads 48\n  out C: f32[32]\n  parallel i < 32 {\n    let v = shuffle(f32(i), 0)\n    C[i] = v\n  "
     "}\n",
     "k.tile:5", "a shuffle in a group of 48 threads; a multiple of 32 is accepted"},
    {"ShuffleFromNowhere",
     "  out C: f32[32]\n  parallel i < 32 {\n    let v = shuffle(f32(i), 32 + i)\n    C[i] = v\n  }\n",
     "k.tile:4", "goes from 32 to 63; 0 to 31 are accepted"},
    {"ShuffleFromAFloat",
     "  out C: f32[32]\n  parallel i < 32 {\n    let v = shuffle(f32(i), 1.0)\n    C[i] = v\n  }\n",
     "k.tile:4", "iteration 1.0 of type f32; i32 is accepted"},
    {"ShuffleOfABool",
     "  out C: f32[32]\n  parallel i < 32 {\n    let v = shuffle(i < 3, 1)\n    C[i] = 0.0\n  }\n",
     "k.tile:4", "a shuffle of bool; a number is accepted"},
    {"BitsOfAnotherSize",
     "  in A: u8[4]\n  out C: f16[4]\n  parallel i < 4 {\n    C[i] = as_f16(A[i])\n  }\n", "k.tile:5",
     "equal sizes are accepted"},
};

INSTANTIATE_TEST_SUITE_P(All, IllegalProgram, ::testing::ValuesIn(kIllegal),
                         [](const auto& test) { return std::string(test.param.name); });

// "VALUE OP VALUE OP ... " with so many operators.
std::string chain(std::string_view value, std::string_view op, size_t operators) {
    std::string text(value);
    for (size_t i = 0; i < operators; ++i) text.append(op).append(value);
    return text;
}

TEST(IllegalExpression, LongChainsOfOperatorsAreRefusedWhereverTheyStand) {
    const auto refused = [](const std::string& body, const char* where) {
        const Error e = refusal("  dim n\n  inout C: i32[8]\n" + body);
        EXPECT_THAT(e.message, HasSubstr("operators one inside of another; 1000 are accepted")) << where;
        EXPECT_THAT(e.where, HasSubstr(where));
    };
    const std::string sum = chain("n", "+", 50000);
    refused("  grid bx < " + sum + "\n", "k.tile:1");
    refused("  in A: i32[" + sum + "]\n", "k.tile:4");
    refused("  in A: i32[8] strides [" + sum + "]\n", "k.tile:4");
    refused("  let x = " + sum + "\n", "k.tile:4:3");
    refused("  let x = -(" + sum + ") * (" + sum + ")\n", "k.tile:4:3");
    refused("  for i < " + sum + " {\n    barrier\n  }\n", "k.tile:4:3");
    refused("  fill C[" + sum + " : 4] = 0\n", "k.tile:4:3");
    refused("  if " + chain("n > 0", " && ", 50000) + " {\n    barrier\n  }\n", "k.tile:4:3");
    refused("  parallel i < 8 {\n    C[i] = " + chain("C[i]", " * ", 50000) + "\n  }\n", "k.tile:5:5");
    refused("  parallel i < 8 {\n    C[i] = C[" + sum + "]\n  }\n", "k.tile:5:5");
}

TEST(IllegalExpression, ChainsAsLongAsAreAcceptedCompileAndCompute) {
    const auto k = parse("kernel k {\n  dim n\n  inout C: i32[1]\n  parallel i < 1 {\n    C[0] = " +
                             chain("C[0]", " + ", 999) + "\n  }\n}\n",
                         "k.tile");
    ASSERT_TRUE(k) << k.error().describe();
    const auto compiled = compile(*k);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    const auto result = interpret(*k, {{{"n", 1}}, {}, {{"C", {3}}}});
    ASSERT_TRUE(result) << result.error().describe();
    EXPECT_EQ(result->at("C")[0], 3 * 1000);
}

TEST(IllegalTarget, AnUnknownTargetNamesAllThereAre) {
    CompileOptions options;
    options.target = "metal-m9";
    EXPECT_THAT(refusal("  barrier\n", options).message, HasSubstr("there are metal-m1, metal-m2"));
}

TEST(IllegalTarget, AForcedPathThatIsNotLegalSaysWhy) {
    const std::string direct =
        "  in A: f16[64, 64]\n  in B: f16[64, 64]\n  out C: f32[64, 64]\n  gemm C = A @ B\n";
    CompileOptions options;
    options.path = Path::kDirectCooperative;
    EXPECT_THAT(refusal(direct, options).message, HasSubstr("metal-m4 isn't a metal4 target"));
    options.target = "metal-m5";
    options.path = Path::kSharedCooperative;
    EXPECT_THAT(refusal(direct, options).message, HasSubstr("the operands are in device memory"));
    options.path = Path::kSimdgroup;
    EXPECT_THAT(
        refusal("  in A: f16[60, 64]\n  in B: f16[64, 64]\n  out C: f32[60, 64]\n  gemm C = A @ B\n", options)
            .message,
        HasSubstr("60 x 64 x 64 isn't made of 8x8 matrices"));
}

TEST(IllegalTarget, TheDirectPathRefusesRowsWithGapsByName) {
    CompileOptions options;
    options.target = "metal-m5";
    options.path = Path::kDirectCooperative;
    const Error e = refusal(
        "  in A: f16[64, 64] strides [128, 2]\n  in B: f16[64, 64]\n  out C: f32[64, 64]\n  gemm C = A @ B\n",
        options);
    EXPECT_THAT(e.message, HasSubstr("rows of A have a stride other than 1"));
    EXPECT_EQ(e.where, "k.tile:5:3");
}

TEST(IllegalLaunch, DimsAreCheckedAgainstWhatTheProgramPromises) {
    const auto k = parse(
        "kernel k {\n  dim n multiple_of 4\n  out C: f32[n]\n  grid bx < n\n  parallel i < 1 {\n    C[bx] = "
        "1.0\n  }\n}",
        "k.tile");
    ASSERT_TRUE(k);
    const auto compiled = compile(*k);
    ASSERT_TRUE(compiled) << compiled.error().describe();
    EXPECT_THAT(compiled->launch({{"n", 6}}).error().message, HasSubstr("multiples of 4"));
    EXPECT_THAT(compiled->launch({}).error().message, HasSubstr("dim n has no value"));
    EXPECT_THAT(compiled->launch({{"n", int64_t{1} << 31}}).error().message,
                HasSubstr("multiples of 4 from 0 to 2147483647 are accepted"));
    EXPECT_EQ(compiled->launch({{"n", 8}})->groups[0], 8u);
    EXPECT_EQ(compiled->launch({{"n", 0}})->groups[0], 0u);
}

TEST(IllegalLaunch, ASizeThatItsTypeCannotHoldIsNotWrapped) {
    for (const std::string extent : {"n * n", "n + n", "-n - n", "n << 1", "n * n / n", "i32(u8(n))"}) {
        const auto k = parse("kernel k {\n  dim n\n  out C: f32[4] offset " + extent + "\n  grid bx < " +
                                 extent + "\n  parallel i < 1 {\n    C[0] = 1.0\n  }\n}",
                             "k.tile");
        ASSERT_TRUE(k) << k.error().describe();
        const auto compiled = compile(*k);
        ASSERT_TRUE(compiled) << compiled.error().describe();
        const std::map<std::string, int64_t> dims{{"n", 2000000000}};
        const auto limited = [&](const auto& result) {
            return !result && result.error().kind == ErrorKind::kLimit;
        };
        EXPECT_TRUE(limited(compiled->launch(dims))) << extent;
        EXPECT_TRUE(limited(tensor_elements(*k, k->tensors()[0], dims))) << extent;
        CompileOptions options;
        options.dims = dims;
        EXPECT_TRUE(limited(compile(*k, options))) << extent;
    }
}

TEST(IllegalLaunch, MemoryThatNobodyCanAddressIsRefused) {
    const auto k =
        parse("kernel k {\n  dim m, n, o\n  in A: u8[m, n, o]\n  in B: u8[m] strides [n]\n}", "k.tile");
    ASSERT_TRUE(k) << k.error().describe();
    const auto elements = [&](size_t tensor, int64_t m, int64_t n, int64_t o) {
        return tensor_elements(*k, k->tensors()[tensor], {{"m", m}, {"n", n}, {"o", o}});
    };
    constexpr int64_t kMost = 2147483647;
    EXPECT_THAT(elements(0, kMost, kMost, kMost).error().message, HasSubstr("A has more than 2^40 elements"));
    EXPECT_THAT(elements(0, 4, kMost, kMost).error().message, HasSubstr("A has more than 2^40 elements"));
    EXPECT_THAT(elements(1, kMost, kMost, 0).error().message, HasSubstr("B has more than 2^40 elements"));
    EXPECT_EQ(elements(0, 1 << 20, 1 << 10, 1 << 10).value(), size_t{1} << 40);
    EXPECT_EQ(elements(1, 3, 1000, 0).value(), 2001u);
    EXPECT_EQ(elements(0, 0, kMost, 1).value(), 0u);
}

}  // namespace
}  // namespace ingot::tile
