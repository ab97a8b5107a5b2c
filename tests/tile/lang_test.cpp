// The language in C++: the same program as its text, with the lines of its C++ source in errors.
#include "tile/lang/lang.h"

#include <gmock/gmock.h>

#include "tile/api/compile.h"
#include "tile/ir/print.h"
#include "tile/library.h"

namespace ingot::tile::testing {
namespace {

using namespace lang;
using ::testing::HasSubstr;

TEST(Lang, AGemmIsTheSameProgramAsItsText) {
    const auto k = kernel("gemm_direct", [](Builder& b) {
        const Value m = b.dim("m"), n = b.dim("n"), depth = b.dim("k");
        const Tensor A = b.input<half>("A", {m, depth});
        const Tensor B = b.input<half>("B", {depth, n});
        const Tensor C = b.output<half>("C", {m, n});
        const auto [bx, by] = b.grid<2>({ceildiv(n, 128), ceildiv(m, 64)}, {.threads = 128});
        b.swizzle({.order = SwizzleOrder::kMlx, .panel = 4});
        b.gemm(C.tile({by * 64, bx * 128}, {64, 128}), A.tile({by * 64, 0}, {64, depth}),
               B.tile({0, bx * 128}, {depth, 128}), {.clear_accumulator = true});
    });
    ASSERT_TRUE(k) << k.error().describe();
    EXPECT_TRUE(same_program(*k, read_kernel("gemm_direct"))) << print(*k);
}

TEST(Lang, ElementsLoopsAndCarriedValuesCompute) {
    const auto k = kernel("rows", [](Builder& b) {
        const Tensor X = b.input<float>("X", {4, 8});
        const Tensor Y = b.output<float>("Y", {4, 2});
        b.grid({1}, {.threads = 32});
        b.parallel(4, [&](Value i) {
            const auto sums = b.carry(8, {0.0, 1.0}, [&](Value j, std::vector<Value> c) {
                return std::vector<Value>{c[0] + X(i, j), max(c[1], X(i, j) * 2)};
            });
            b.if_then(i % 2 == 0, [&] { Y(i, 0) = sums[0]; }, [&] { Y(i, 0) = -sums[0]; });
            Y(i, 1) = sums[1];
        });
    });
    ASSERT_TRUE(k) << k.error().describe();
    Arguments x;
    for (int i = 0; i < 32; ++i) x.tensors["X"].push_back(i);
    const auto y = interpret(*k, x);
    ASSERT_TRUE(y) << y.error().describe();
    EXPECT_EQ(y->at("Y"), (std::vector<double>{28, 14, -92, 30, 156, 46, -220, 62}));
    const auto again = parse(print(*k), "again");
    ASSERT_TRUE(again) << again.error().describe() << print(*k);
    EXPECT_TRUE(same_program(*k, *again)) << print(*k);
}

TEST(Lang, AnErrorNamesTheLineOfTheCall) {
    int line = 0;
    const auto k = kernel("wrong", [&](Builder& b) {
        const Tensor A = b.input<float>("A", {8});
        line = __LINE__ + 1;
        b.fill(A, 0.0);
    });
    ASSERT_FALSE(k);
    EXPECT_EQ(k.error().where, fmt::format("lang_test.cpp:{}", line));
    EXPECT_THAT(k.error().message, HasSubstr("a write to the input A"));
}

}  // namespace
}  // namespace ingot::tile::testing
