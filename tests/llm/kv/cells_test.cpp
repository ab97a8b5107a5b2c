#include "llm/kv/cells.h"

#include "llm/graph/fixture.h"

namespace ingot::kv {
namespace {

using graph::WindowMode;
using tests::error_of;
using tests::iota;
using tests::value_of;
using Runs = std::vector<Run>;

Placement append(Cells& cells, std::vector<Continuation> batch) {
    return value_of(cells.append(batch));
}

// Of sequences 100 to 115, one cell each, those in even cells.
std::vector<SequenceId> ids_in_even_cells(const Cells& cells) {
    std::vector<SequenceId> ids;
    for (SequenceId id = 100; id < 116; ++id)
        if (cells.runs(id)[0].cell % 2 == 0) ids.push_back(id);
    return ids;
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
    EXPECT_EQ((std::vector<int32_t>{0, 1, 7, 8, 9}), both.cells);
    EXPECT_EQ(WindowMode::kSpan, both.window);
    // All lo, then all hi.
    EXPECT_EQ((std::vector<int32_t>{0, 0, 7, 7, 7, 1, 2, 8, 9, 10}), both.window_data);
}

TEST(Cells, SequencesThatGrowTogetherLeaveRoomForEachOther) {
    Cells cells(64);
    append(cells, {{0, 4}, {1, 4}, {2, 4}, {3, 4}});
    for (int step = 0; step < 10; ++step) {
        EXPECT_EQ(WindowMode::kSpan, append(cells, {{0, 1}, {1, 1}, {2, 1}, {3, 1}}).window) << step;
    }
    // To the last cell, whatever runs that takes.
    for (int step = 0; step < 2; ++step) append(cells, {{0, 1}, {1, 1}, {2, 1}, {3, 1}});
    EXPECT_EQ(64u, cells.num_used());
}

TEST(Cells, ASequenceWhoseNextCellIsTakenContinuesElsewhereAndIsSeenThroughAMap) {
    Cells cells(8);
    append(cells, {{0, 2}, {1, 2}});
    EXPECT_EQ((Runs{{4, 2}}), Runs(cells.runs(1).begin(), cells.runs(1).end()));
    const Placement more = append(cells, {{0, 4}});
    EXPECT_EQ((std::vector<int32_t>{2, 3, 6, 7}), more.cells);
    EXPECT_EQ((std::vector<int32_t>{2, 3, 4, 5}), more.positions);
    EXPECT_EQ(WindowMode::kMap, more.window);
    EXPECT_EQ((std::vector<int32_t>{0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0,
                                    0, 4, 6, 1, 0, 0, 0, 0, 0, 4, 6, 2, 0, 0, 0, 0}),
              more.window_data);
}

TEST(Cells, MoreRunsThanAMapCanSayAreRefused) {
    // Every second cell is taken: sequence 9 finds one at a time.
    Cells cells(16);
    for (SequenceId id = 0; id < 16; ++id) append(cells, {{id + 100, 1}});
    for (const SequenceId id : ids_in_even_cells(cells)) cells.truncate(id, 0);
    for (int i = 0; i < 4; ++i) append(cells, {{9, 1}});
    const std::vector<Continuation> one = {{9, 1}};
    EXPECT_EQ("sequence 9 would lie in more than 4 runs of KV cells", error_of(cells.append(one)));
    EXPECT_EQ(4u, cells.length(9));
    EXPECT_FALSE(cells.rearrange().empty());
    append(cells, {{9, 1}});
    EXPECT_EQ(2u, cells.runs(9).size());
}

// What each position of a sequence finds in its cell.
std::vector<int> read(const Cells& cells, SequenceId id, const std::vector<int>& content) {
    std::vector<int> found;
    for (const Run& run : cells.runs(id))
        found.insert(found.end(), &content[run.cell], &content[run.cell] + run.length);
    return found;
}

TEST(Cells, LaidOutAnewSequencesLieInOneRunWithRoomBehindIt) {
    Cells cells(32);
    std::vector<int> content(32, -1);
    for (int step = 0; step < 3; ++step) {
        for (SequenceId id = 0; id < 4; ++id) {
            for (const int32_t cell : append(cells, {{id, 2}}).cells)
                content[size_t(cell)] = int(id) * 100 + step;
        }
    }
    EXPECT_TRUE(cells.share(1, 7, 5));
    for (const int32_t cell : append(cells, {{7, 1}}).cells) content[size_t(cell)] = 700;
    std::map<SequenceId, std::vector<int>> before;
    for (const SequenceId id : {0u, 1u, 2u, 3u, 7u}) before[id] = read(cells, id, content);
    const uint32_t used = cells.num_used();

    const std::vector<int> old = content;
    for (const RowMove& move : cells.rearrange())
        std::copy_n(&old[move.from], move.length, &content[move.to]);
    EXPECT_EQ(used, cells.num_used());
    for (const auto& [id, values] : before) {
        EXPECT_EQ(values, read(cells, id, content)) << id;
        EXPECT_EQ(id == 7 ? 2u : 1u, cells.runs(id).size()) << "a shared beginning stays where it is";
    }
    EXPECT_EQ((Runs{{0, 6}}), Runs(cells.runs(0).begin(), cells.runs(0).end()));
    EXPECT_EQ((Runs{{7, 6}}), Runs(cells.runs(1).begin(), cells.runs(1).end()));
    EXPECT_TRUE(cells.rearrange().empty());
}

TEST(Cells, RemovedPositionsAreFreeAndThoseBehindMoveDown) {
    Cells cells(10);
    append(cells, {{0, 8}});
    const Removal removal = value_of(cells.remove(0, 2, 5));
    EXPECT_TRUE(removal.copies.empty());
    EXPECT_EQ((Runs{{5, 3}}), removal.turned);
    EXPECT_EQ(5u, cells.length(0));
    EXPECT_EQ(5u, cells.num_used());
    EXPECT_EQ((std::vector<RowMove>{{5, 2, 3}}), cells.compact());
    const Placement next = append(cells, {{0, 2}});
    EXPECT_EQ(iota(5, 2), next.cells);
    EXPECT_EQ(iota(5, 2), next.positions);
    EXPECT_EQ(WindowMode::kCausal, next.window) << "one run from cell 0 again";
}

TEST(Cells, TrapARemovalThatFreesNothingIsRefused) {
    Cells cells(10);
    append(cells, {{0, 4}});
    for (const auto& [begin, end] : {std::pair(2u, 2u), {3u, 2u}, {0u, 5u}, {4u, 5u}}) {
        EXPECT_EQ(fmt::format("positions {} to {} of a sequence of 4 tokens; one or more that are there are "
                              "accepted",
                              begin, end),
                  error_of(cells.remove(0, begin, end)));
    }
    EXPECT_EQ(4u, cells.length(0));
    value_of(cells.remove(0, 0, 4));
    EXPECT_EQ(0u, cells.num_used());
}

TEST(Cells, ASharedPrefixIsCountedOnceAndWhatFollowsIsEachSequencesOwn) {
    Cells cells(16);
    append(cells, {{0, 4}});
    EXPECT_TRUE(cells.share(0, 1, 3));
    EXPECT_EQ(4u, cells.num_used());
    const Placement both = append(cells, {{0, 1}, {1, 1}});
    EXPECT_EQ((std::vector<int32_t>{4, 3}), both.positions);
    EXPECT_EQ((std::vector<int32_t>{4, 10}), both.cells);
    EXPECT_EQ(WindowMode::kMap, both.window);
    EXPECT_EQ((std::vector<int32_t>{0, 5, 0, 0, 0, 0, 0, 0, 0, 3, 10, 1, 0, 0, 0, 0}), both.window_data);
    cells.truncate(0, 0);
    EXPECT_EQ(4u, cells.num_used()) << "the prefix is still held by the other one";
    EXPECT_EQ((Runs{{0, 3}, {10, 1}}), Runs(cells.runs(1).begin(), cells.runs(1).end()));
    EXPECT_FALSE(cells.share(1, 1, 1));
    EXPECT_FALSE(cells.share(1, 2, 5));
    append(cells, {{3, 1}});
    EXPECT_FALSE(cells.share(1, 3, 1)) << "not empty";
}

TEST(Cells, WhatIsSharedIsCopiedBeforeItTurns) {
    Cells cells(8);
    append(cells, {{0, 4}});
    EXPECT_TRUE(cells.share(0, 1, 4));
    const Removal removal = value_of(cells.remove(1, 0, 1));
    EXPECT_EQ((std::vector<RowMove>{{1, 4, 1}, {2, 5, 1}, {3, 6, 1}}), removal.copies);
    EXPECT_EQ((Runs{{4, 3}}), removal.turned);
    EXPECT_EQ(4u, cells.length(0));
    EXPECT_EQ(3u, cells.length(1));
    Cells full(4);
    append(full, {{0, 4}});
    EXPECT_TRUE(full.share(0, 1, 4));
    EXPECT_EQ("no KV cell of 4 is free for a copy of a shared one", error_of(full.remove(1, 0, 1)));
    EXPECT_EQ(4u, full.length(1)) << "nothing is changed";
}

TEST(Cells, CompactionKeepsTheOrderAndJoinsRuns) {
    Cells cells(16);
    append(cells, {{0, 3}, {1, 4}});  // 0-2, 7-10
    append(cells, {{0, 6}, {2, 1}});  // 3-6 and 12-13, 14
    cells.truncate(1, 0);
    EXPECT_EQ((std::vector<RowMove>{{12, 7, 3}}), cells.compact());
    EXPECT_EQ((Runs{{0, 9}}), Runs(cells.runs(0).begin(), cells.runs(0).end()));
    EXPECT_EQ((Runs{{9, 1}}), Runs(cells.runs(2).begin(), cells.runs(2).end()));
    EXPECT_TRUE(cells.compact().empty());
}

}  // namespace
}  // namespace ingot::kv
