// The regret harness on tables whose truth is known because it made them.
#include "tile/plan/regret.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace ingot::tile::testing {
namespace {

const std::vector<double> kTruth = {1.0, 0.25, 0.0, 4.0};

// Shapes with six plans each; `noise` is relative. Every third shape is held out.
std::string synthetic(double noise, uint32_t seed, size_t shapes = 30) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> count(10, 1000), around(-1, 1);
    std::string out = "shape,plan,part,measured,issues,transfers,useless,setup\n";
    for (size_t s = 0; s < shapes; ++s) {
        for (int p = 0; p < 6; ++p) {
            const double f[] = {count(random), count(random), count(random), count(random) / 10};
            double time = 0;
            for (size_t i = 0; i < 4; ++i) time += f[i] * kTruth[i];
            time *= 1 + noise * around(random);
            out += fmt::format("s{},p{},{},{},{},{},{},{}\n", s, p, s % 3 == 0 ? "held_out" : "fit", time,
                               f[0], f[1], f[2], f[3]);
        }
    }
    return out;
}

MeasurementTable table_of(const std::string& text) {
    const auto t = parse_measurements(text, "t.csv");
    EXPECT_TRUE(t) << t.error().describe();
    return t.value_or(MeasurementTable{});
}

TEST(Regret, TheTruthHasNoneAndItsOppositeTheMost) {
    const MeasurementTable t = table_of(synthetic(0, 1));
    const auto none = regret_of(t, kTruth, true);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->shapes, 10u);
    EXPECT_EQ(none->mean, 0);
    EXPECT_EQ(none->maximum, 0);
    std::vector<double> opposite = kTruth;
    for (double& p : opposite) p = -p;
    const auto most = regret_of(t, opposite, true);
    // By hand: the slowest plan of each shape.
    double mean = 0, worst = 0;
    for (int s = 0; s < 30; s += 3) {
        double least = 1e300, longest = 0;
        for (const Measurement& m : t.rows) {
            if (m.shape != fmt::format("s{}", s)) continue;
            least = std::min(least, m.measured), longest = std::max(longest, m.measured);
        }
        mean += (longest / least - 1) / 10;
        worst = std::max(worst, longest / least - 1);
    }
    EXPECT_NEAR(most->mean, mean, 1e-12);
    EXPECT_NEAR(most->maximum, worst, 1e-12);
}

TEST(Regret, AFitFindsThePricesThatMadeTheTable) {
    const auto prices = fit_prices(table_of(synthetic(0, 2)));
    ASSERT_TRUE(prices) << prices.error().describe();
    for (size_t i = 0; i < kTruth.size(); ++i) EXPECT_NEAR((*prices)[i], kTruth[i], 1e-6) << i;
}

TEST(Regret, ANoisyFitStaysCloseOnShapesItDidntSee) {
    const MeasurementTable t = table_of(synthetic(0.05, 3));
    const auto prices = fit_prices(t);
    ASSERT_TRUE(prices);
    for (const double p : *prices) EXPECT_GE(p, 0);
    const auto held = regret_of(t, *prices, true);
    ASSERT_TRUE(held);
    // Two plans may swap places if they are within the noise: 1.05 / 0.95.
    EXPECT_LE(held->maximum, 1.05 / 0.95 - 1 + 0.02);
    EXPECT_LE(held->mean, held->maximum);
}

TEST(Regret, PricesStayAtLeastZeroWhereTheUnconstrainedBestIsNot) {
    // measured = 10 - feature b: the best price of b alone would be negative.
    std::string text = "shape,plan,part,measured,a,b\n";
    for (int i = 1; i <= 8; ++i) text += fmt::format("s,p{},fit,{},10,{}\n", i, 10 - i, i);
    const auto prices = fit_prices(table_of(text));
    ASSERT_TRUE(prices);
    EXPECT_EQ((*prices)[1], 0);
    EXPECT_GT((*prices)[0], 0);
}

TEST(Regret, HeldOutShapesDontTouchTheFit) {
    std::string text = synthetic(0.05, 4);
    const auto before = fit_prices(table_of(text));
    // Another time in every held-out row.
    MeasurementTable t = table_of(text);
    for (Measurement& m : t.rows)
        if (m.held_out) m.measured *= 100;
    EXPECT_EQ(*fit_prices(t), *before);
}

TEST(Regret, OfEqualScoresTheSlowestCounts) {
    const MeasurementTable t = table_of("shape,plan,part,measured,a\ns,p,fit,1,5\ns,q,fit,3,5\n");
    const auto r = regret_of(t, std::vector<double>{1.0}, false);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->maximum, 2);
    EXPECT_EQ(r->worst, "s");
    EXPECT_FALSE(regret_of(t, std::vector<double>{1.0}, true));
}

TEST(Regret, BadTablesAreRefusedWithTheirLine) {
    const auto refused = [](const std::string& text) {
        const auto t = parse_measurements(text, "t.csv");
        return t ? std::string("accepted") : t.error().describe();
    };
    const std::string head = "shape,plan,part,measured,a\n";
    EXPECT_EQ(refused(""), "t.csv: no measurements");
    EXPECT_EQ(refused("shape,plan\n"),
              "t.csv:1: the first line names the columns: shape,plan,part,measured, then features");
    EXPECT_EQ(refused(head + "s,p,fit,1\n"), "t.csv:2: 4 fields; 5 are accepted");
    EXPECT_EQ(refused(head + "s,p,test,1,1\n"), "t.csv:2: part 'test'; fit and held_out are accepted");
    EXPECT_EQ(refused(head + "s,p,fit,0,1\n"), "t.csv:2: measured is 0; more than 0 is accepted");
    EXPECT_EQ(refused(head + "s,p,fit,inf,1\n"), "t.csv:2: 'inf' for measured; a number is accepted");
    EXPECT_EQ(refused(head + "s,p,fit,1,1\ns,q,held_out,1,1\n"), "t.csv:3: shape s is in both parts");
    EXPECT_EQ(refused(head + "s,p,fit,1,1\n\ns,p,fit,2,1\n"),
              "t.csv:4: plan p of shape s for the second time");
    EXPECT_FALSE(fit_prices(table_of("shape,plan,part,measured,a,b\ns,p,fit,1,1,1\n")));
}

}  // namespace
}  // namespace ingot::tile::testing
