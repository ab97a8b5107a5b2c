#include "llm/kv/cells.h"

#include "llm/graph/fixture.h"

namespace ingot::kv {
namespace {

using graph::WindowMode;
using testing::error_of;
using testing::iota;
using testing::value_of;

Placement append(Cells& cells, std::vector<Continuation> batch) {
    return value_of(cells.append(batch));
}

TEST(Cells, ASingleSequenceLiesInOrderFromCellZero) {
    Cells cells(8);
    EXPECT_EQ(iota(0, 3), append(cells, {{0, 3}}).positions);
    const Placement next = append(cells, {{0, 2}});
    EXPECT_EQ(iota(3, 2), next.positions);
    EXPECT_EQ(iota(3, 2), next.cells);
    EXPECT_EQ(WindowMode::kCausal, next.window);
    EXPECT_TRUE(next.window_data.empty());
    EXPECT_EQ(5u, cells.length(0));
}

TEST(Cells, TokensThatDontFitChangeNothing) {
    Cells cells(4);
    append(cells, {{0, 3}});
    const std::vector<Continuation> two = {{0, 2}};
    EXPECT_EQ("2 tokens need as many KV cells; 1 of 4 are free", error_of(cells.append(two)));
    EXPECT_EQ(3u, cells.length(0));
    EXPECT_EQ(1u, append(cells, {{0, 1}}).cells.size());
}

TEST(Cells, TruncatedCellsAreUsedAgain) {
    Cells cells(4);
    append(cells, {{0, 4}});
    cells.truncate(0, 1);
    EXPECT_EQ(1u, cells.num_used());
    EXPECT_EQ(iota(1, 3), append(cells, {{0, 3}}).cells);
    cells.truncate(0, 9);
    EXPECT_EQ(4u, cells.length(0));
    cells.truncate(0, 0);
    EXPECT_EQ(0u, cells.num_used());
}

TEST(Cells, SequencesSideBySideSeeOnlyTheirOwnSpans) {
    Cells cells(16);
    const Placement both = append(cells, {{0, 2}, {7, 3}});
    EXPECT_EQ((std::vector<int32_t>{0, 1, 0, 1, 2}), both.positions);
    EXPECT_EQ((std::vector<int32_t>{0, 1, 2, 3, 4}), both.cells);
    EXPECT_EQ(WindowMode::kSpan, both.window);
    // All lo, then all hi.
    EXPECT_EQ((std::vector<int32_t>{0, 0, 2, 2, 2, 1, 2, 3, 4, 5}), both.window_data);
}

TEST(Cells, ASequenceWhoseNextCellIsTakenContinuesElsewhereAndIsSeenThroughAMap) {
    Cells cells(8);
    append(cells, {{0, 2}, {1, 2}});
    const Placement more = append(cells, {{0, 2}});
    EXPECT_EQ((std::vector<int32_t>{4, 5}), more.cells);
    EXPECT_EQ((std::vector<int32_t>{2, 3}), more.positions);
    EXPECT_EQ(WindowMode::kMap, more.window);
    EXPECT_EQ((std::vector<int32_t>{0, 2, 4, 1, 0, 0, 0, 0, 0, 2, 4, 2, 0, 0, 0, 0}), more.window_data);
}

TEST(Cells, MoreRunsThanAMapCanSayAreRefused) {
    Cells cells(64);
    for (int i = 0; i < 4; ++i) append(cells, {{0, 1}, {1, 1}});
    const std::vector<Continuation> one = {{0, 1}};
    EXPECT_EQ("sequence 0 would lie in more than 4 runs of KV cells", error_of(cells.append(one)));
    EXPECT_EQ(4u, cells.length(0));
}

}  // namespace
}  // namespace ingot::kv
