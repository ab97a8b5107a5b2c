// How much of a model a device's memory holds: the longest prefix of blocks, so that values cross between
// devices once each way.
#pragma once

#include <cstdint>

#include "llm/graph/pass.h"

namespace ingot {

// Blocks whose weights and KV cells fit `budget_bytes`, from the first on; graph::kAllBlocks if all do and
// what lies before and behind them too. A budget of 0 stands for a device that doesn't know its memory: all.
uint32_t blocks_that_fit(const graph::WeightTable& weights, uint32_t blocks, uint64_t kv_bytes_of_block,
                         uint64_t budget_bytes);

}  // namespace ingot
