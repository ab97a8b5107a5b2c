// Against std::max_element, std::find_if and a full stable sort.
#include "llm/text/logit_scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace ingot {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kSizes[] = {1, 7, 8, 9, 127, 128, 129, 255, 1000, 5003};

// Few distinct values, so that many are equal.
std::vector<float> logits_of(size_t count, uint32_t seed, int distinct) {
    std::mt19937 generator(seed);
    std::vector<float> logits(count);
    for (float& logit : logits) logit = float(int(generator() % unsigned(distinct)) - distinct / 2) / 16;
    return logits;
}

TEST(LogitScan, LargestIsTheFirstOfTheLargest) {
    for (const size_t size : kSizes) {
        for (const int distinct : {1, 5, 100000}) {
            const auto logits = logits_of(size, uint32_t(size), distinct);
            const auto expected = std::max_element(logits.begin(), logits.end()) - logits.begin();
            EXPECT_EQ(size_t(expected), index_of_largest(logits)) << size << ' ' << distinct;
        }
    }
}

TEST(LogitScan, BannedTokensAreLargestOnlyWhenAllAre) {
    std::vector<float> logits(300, -kInfinity);
    EXPECT_EQ(0u, index_of_largest(logits));
    logits[299] = -1e30f;
    EXPECT_EQ(299u, index_of_largest(logits));
}

TEST(LogitScan, LargestOnesComeInTheOrderOfAStableSort) {
    for (const size_t size : kSizes) {
        for (const int distinct : {1, 5, 100000}) {
            const auto logits = logits_of(size, uint32_t(size), distinct);
            std::vector<size_t> sorted(size);
            std::iota(sorted.begin(), sorted.end(), 0);
            std::ranges::stable_sort(sorted, [&](size_t a, size_t b) { return logits[a] > logits[b]; });
            for (const size_t count : {size_t(0), size_t(1), size_t(2), size_t(40), size, size + 1}) {
                auto expected = sorted;
                expected.resize(std::min(count, size));
                EXPECT_EQ(expected, indices_of_largest(logits, count))
                    << size << ' ' << distinct << ' ' << count;
            }
        }
    }
}

TEST(LogitScan, FindsTheFirstNanOrInfinityWhereverItIs) {
    for (const size_t size : kSizes) {
        auto logits = logits_of(size, 1, 1000);
        logits[size / 2] = -kInfinity;  // a banned token
        EXPECT_EQ(size, first_unusable(logits));
        for (const float value : {std::nanf(""), kInfinity}) {
            for (const size_t at : {size_t(0), size / 2, size - 1}) {
                auto damaged = logits;
                damaged[at] = value;
                damaged[size - 1] = value;
                EXPECT_EQ(at, first_unusable(damaged)) << size << ' ' << at;
            }
        }
    }
}

}  // namespace
}  // namespace ingot
