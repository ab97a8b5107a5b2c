#include "llm/engine/offload.h"

#include <vector>

namespace ingot {

uint32_t blocks_that_fit(const graph::WeightTable& weights, uint32_t blocks, uint64_t kv_bytes_of_block,
                         uint64_t budget_bytes) {
    if (budget_bytes == 0) return graph::kAllBlocks;
    std::vector<uint64_t> bytes(blocks, kv_bytes_of_block);
    uint64_t outside = 0;
    for (const graph::Weight& weight : weights.all()) {
        const auto block = graph::block_of(weight.name);
        (block && *block < blocks ? bytes[*block] : outside) += weight.data.size();
    }
    uint64_t taken = 0;
    for (uint32_t block = 0; block < blocks; ++block) {
        taken += bytes[block];
        if (taken > budget_bytes) return block;
    }
    return taken + outside <= budget_bytes ? graph::kAllBlocks : blocks;
}

}  // namespace ingot
