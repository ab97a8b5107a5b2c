// How many blocks fit a budget.
#include "llm/engine/offload.h"

#include "llm/graph/fixture.h"

namespace ingot {
namespace {

TEST(Offload, TakesThePrefixThatFitsAndTheRestOnlyWithAllBlocks) {
    tests::Weights weights;
    weights.add("token_embd.weight", 10, 10);  // 400 bytes
    weights.add("blk.0.a", 5, 10);             // 200
    weights.add("blk.1.a", 15, 10);            // 600
    weights.add("blk.2.a", 5, 10);             // 200
    const auto fit = [&](uint64_t budget) { return blocks_that_fit(*weights.table(), 3, 50, budget); };
    EXPECT_EQ(0u, fit(249));
    EXPECT_EQ(1u, fit(250));
    EXPECT_EQ(1u, fit(899)) << "the third would fit, but a prefix is wanted";
    EXPECT_EQ(2u, fit(900));
    EXPECT_EQ(3u, fit(1150)) << "without the embedding";
    EXPECT_EQ(3u, fit(1549));
    EXPECT_EQ(graph::kAllBlocks, fit(1550));
    EXPECT_EQ(graph::kAllBlocks, fit(0)) << "a device that doesn't know its memory has no limit";
}

}  // namespace
}  // namespace ingot
