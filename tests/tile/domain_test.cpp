// Proofs about index expressions, held against enumeration: what is proved holds for every value, intervals
// contain every value and divisors divide every value.
#include "tile/proof/domain.h"

#include <random>

#include <gtest/gtest.h>

#include "tile/ir/build.h"
#include "tile/ir/print.h"

namespace ingot::tile {
namespace {

constexpr int64_t kExtents[] = {5, 3, 7};

// A random whole-number expression over three variables.
ExprId random_expr(Kernel& k, std::mt19937& g, int depth) {
    if (depth == 0 || g() % 6 == 0) {
        if (g() % 3 == 0) return constant(k, double(int(g() % 9)) - 2);
        return var(k, VarId(g() % 3));
    }
    const ExprId a = random_expr(k, g, depth - 1);
    const ExprId positive = constant(k, double(1 + g() % 6));
    switch (g() % 8) {
        case 0:
        case 1:
            return add(k, a, random_expr(k, g, depth - 1));
        case 2:
            return sub(k, a, random_expr(k, g, depth - 1));
        case 3:
            return mul(k, a, positive);
        case 4:
            return apply(k, ExprOp::kDiv, std::array{a, positive});
        case 5:
            return apply(k, ExprOp::kMod, std::array{a, positive});
        case 6:
            return apply(k, g() % 2 ? ExprOp::kMin : ExprOp::kMax,
                         std::array{a, random_expr(k, g, depth - 1)});
        default:
            return apply(k, ExprOp::kCeilDiv, std::array{a, positive});
    }
}

int64_t value(const Kernel& k, ExprId id, const int64_t* at) {
    const Expr& e = k[id];
    if (e.op == ExprOp::kConst) return int64_t(e.value);
    if (e.op == ExprOp::kVar) return at[e.ref];
    std::vector<double> args;
    for (const ExprId a : e.args) args.push_back(double(value(k, a, at)));
    return int64_t(evaluate(e.op, e.type, e.type, args));
}

template <typename F>
void each(F f) {
    for (int64_t x = 0; x < kExtents[0]; ++x)
        for (int64_t y = 0; y < kExtents[1]; ++y)
            for (int64_t z = 0; z < kExtents[2]; ++z) {
                const int64_t at[] = {x, y, z};
                f(at);
            }
}

TEST(Domain, WhatIsProvedHoldsForEveryValue) {
    std::mt19937 g(1);
    size_t within = 0, different = 0, points = 0;
    for (int round = 0; round < 3000; ++round) {
        Kernel k;
        Domain d(k);
        for (const int64_t n : kExtents)
            d.bound(k.append(Var{"v", DType::kI32, VarKind::kLoop}), constant(k, double(n)));
        const ExprId a = random_expr(k, g, 3), b = random_expr(k, g, 3);
        const Interval i = d.interval(a);
        const int64_t divisor = d.divisor(a), span = int64_t(g() % 4);
        const bool fits = d.proves_within(a, span, b), apart = d.proves_different(a, b),
                   outside = d.disproves_index(a, b);
        within += fits, different += apart, points += i.is_point();
        each([&](const int64_t* at) {
            const int64_t x = value(k, a, at), y = value(k, b, at);
            ASSERT_TRUE(i.lo <= x && x <= i.hi)
                << print(k, a) << " = " << x << " in [" << i.lo << ", " << i.hi << "]";
            ASSERT_TRUE(divisor == 0 ? x == 0 : x % divisor == 0)
                << print(k, a) << " = " << x << " by " << divisor;
            if (fits) {
                ASSERT_LE(x + span, y) << print(k, a) << " + " << span << " <= " << print(k, b);
            }
            if (apart) {
                ASSERT_NE(x, y) << print(k, a) << " != " << print(k, b);
            }
            if (outside) {
                ASSERT_TRUE(x < 0 || x >= y) << print(k, a) << " in [0, " << print(k, b) << ")";
            }
        });
    }
    // The queries must be of some use, too.
    EXPECT_GT(within, 200u);
    EXPECT_GT(different, 200u);
}

TEST(Domain, TilesOfAMultipleAreWhole) {
    Kernel k;
    k.dims = {{"m", 64}, {"n", 1}};
    const ExprId m = dim(k, DimId(0)), n = dim(k, DimId(1)), tile = constant(k, 64);
    const VarId by = k.append(Var{"by", DType::kI32, VarKind::kGrid}),
                bx = k.append(Var{"bx", DType::kI32, VarKind::kGrid});
    Domain d(k);
    d.bound(by, apply(k, ExprOp::kCeilDiv, std::array{m, tile}));
    d.bound(bx, apply(k, ExprOp::kCeilDiv, std::array{n, tile}));
    EXPECT_TRUE(d.proves_within(mul(k, var(k, by), tile), 64, m));
    EXPECT_FALSE(d.proves_within(mul(k, var(k, by), tile), 65, m));
    EXPECT_FALSE(d.proves_within(mul(k, var(k, bx), tile), 64, n));
}

TEST(Domain, VersionsOfATileAreToldApart) {
    Kernel k;
    const ExprId at = var(k, k.append(Var{"k", DType::kI32, VarKind::kLoop})), two = constant(k, 2);
    const auto version = [&](int64_t ahead) {
        return apply(k, ExprOp::kMod, std::array{add(k, at, constant(k, double(ahead))), two});
    };
    const Domain d(k);
    EXPECT_TRUE(d.proves_different(version(0), version(1)));
    EXPECT_FALSE(d.proves_different(version(0), version(2)));
}

}  // namespace
}  // namespace ingot::tile
