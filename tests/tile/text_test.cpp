// The text form: what is printed is read back as the same program, and mistakes are told with their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile/ir/parse.h"
#include "tile/ir/print.h"
#include "tile/ir/verify.h"

namespace ingot::tile {
namespace {

using testing::HasSubstr;

constexpr std::string_view kEverything = R"(kernel everything {
  dim m, n multiple_of 4, k
  scalar eps: f32
  in A: f16[m, k]
  in B: f16[k, n] strides [n + 8, 1] offset 16
  in idx: i32[n]
  out C: f32[m, n]
  inout H: i32[32]
  grid bx < ceildiv(n, 64), by < ceildiv(m, 64)
  threads 128
  swizzle mlx 4

  shared As: f16[64, 32]
  shared Bs: f16[32, 64]
  shared rows: f32[64]
  fragment acc: f32[64, 64]
  fill acc = 0.0
  for step < ceildiv(k, 32) pipelined(2) {
    copy As = A[by * 64 : 64, step * 32 : 32]
    copy Bs = B[step * 32 : 32, bx * 64 : 64] fill 0.5
    gemm acc += As @ Bs policy(full_row)
  }
  gemm acc = As @ Bs
  reduce rows = max(acc, 1)
  reduce rows with sum(acc, 1)
  cumsum acc = acc, 1
  parallel i < 64, j < 64 {
    local t: f32[2]
    t[0] = acc[i, j] * 2.0 + exp2(-eps) - -3.0
    let q = f32(idx[bx * 64 + j] >> 2 & 15) / (acc[i, j] + f32(f16(0.5)))
    for x < 3 unroll carry s: f32 = 0.0 -> total, c: i32 = 0 -> count {
      yield s + q, c + 1
    }
    if total > 0.0 && !(count == 3) {
      acc[i, j] = select(true, total, min(t[0], inf))
    } else {
      atomic_add H[count % 32] += 1
    }
    print "say \"it\"\n", total, count
    assert count < 4, "few"
  }
  barrier
  copy C[by * 64 : 64, bx * 64 : 64] = acc
}
)";

TEST(TileText, PrintsAndReadsBackEveryConstruct) {
    const auto first = parse(kEverything, "everything.tile");
    ASSERT_TRUE(first) << first.error().describe();
    const auto verified = verify(*first);
    ASSERT_TRUE(verified) << verified.error().describe();
    const std::string printed = print(*first);
    const auto second = parse(printed, "printed.tile");
    ASSERT_TRUE(second) << second.error().describe() << "\n" << printed;
    EXPECT_TRUE(same_program(*first, *second)) << printed;
    EXPECT_EQ(print(*second), printed);
}

struct Mistake {
    std::string_view text, where, message;
};

TEST(TileText, MistakesNameTheirPlaceAndWhatIsAccepted) {
    const Mistake mistakes[] = {
        {"kernel", "k.tile:1:7", "the name of a kernel"},
        {"kernel k {\n  dim f32\n}", "k.tile:2:7", "'f32' is a type"},
        {"kernel k {\n  dim n, n\n}", "k.tile:2:10", "already the name"},
        {"kernel k {\n  in A: f64[4]\n}", "k.tile:2:9", "a type (f32, f16, bf16"},
        {"kernel k {\n  threads 2000\n}", "k.tile:2:11", "1 to 1024 are accepted"},
        {"kernel k {\n  copy A = B\n}", "k.tile:2:8", "unknown name 'A'"},
        {"kernel k {\n  in A: f32[4]\n  copy A[0 : 4, 0] = A\n}", "k.tile:3:8",
         "A has 1 dimensions, 2 indices"},
        {"kernel k {\n  fill x = $\n}", "k.tile:2:12", "'$' means nothing here"},
        {"kernel k {\n  let x = foo(1)\n}", "k.tile:2:11", "unknown function 'foo'; there are min, max"},
        {"kernel k {\n  let x = min(1)\n}", "k.tile:2:11", "min takes 2 operands, 1 are given"},
        {"kernel k {\n  for i < 3 carry a: f32 = b -> x, b: f32 = a -> y {\n  }\n}", "k.tile:2:28",
         "'a' starts from 'b', a carried value of the same loop"},
        {"kernel k {\n  barrier", "k.tile:2:10", "'}' of the kernel"},
        {"kernel k {\n  let x = 12abc\n}", "k.tile:2:11", "is no number"},
        {"kernel k {\n  let x = 9999999999\n}", "k.tile:2:11", "whole numbers go to 2147483647"},
        {"kernel k {\n  out C: f32[4]\n  parallel i < 4 {\n    C[0 : 4] = 1.0\n  }\n}", "k.tile:4:5",
         "`copy` and `fill` write whole parts"},
    };
    for (const Mistake& m : mistakes) {
        const auto parsed = parse(m.text, "k.tile");
        ASSERT_FALSE(parsed) << m.text;
        EXPECT_EQ(parsed.error().where, m.where) << m.text;
        EXPECT_THAT(parsed.error().message, HasSubstr(std::string(m.message))) << m.text;
    }
}

TEST(TileText, NestingHasALimit) {
    const std::string deep =
        "kernel k {\n  let x = " + std::string(5000, '(') + "1" + std::string(5000, ')') + "\n}";
    const auto parsed = parse(deep, "k.tile");
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, HasSubstr("more than 100 levels"));
}

}  // namespace
}  // namespace ingot::tile
