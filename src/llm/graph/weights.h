// The weights a graph may refer to: name, storage type, shape and bytes. It owns no bytes (they lie in the
// mapped file) and knows no backend; how a weight is laid out for execution is the backend's business
// (backend.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "llm/quant/quant.h"

namespace ingot::graph {

using WeightId = Id<struct WeightTag>;

struct Weight {
    std::string name;
    QuantType type = QuantType::kF32;
    uint32_t rows = 1;  // 1 for vectors (gains, biases)
    uint32_t cols = 0;  // row length, the contiguous dimension
    // rows * cols elements in storage order; empty in graphs that are only transformed, never executed.
    std::span<const std::byte> data;
};

// The block of a model that a weight of this name belongs to: 7 for "blk.7.attn_q.weight"; nullopt for those
// before and after the blocks.
std::optional<uint32_t> block_of(std::string_view weight_name);

class WeightTable {
  public:
    // kInvalidArgument if the name is taken, a dimension is 0, or `data` is neither empty nor of the exact
    // size.
    Result<WeightId> add(Weight weight);
    // An invalid id if there is none of that name.
    WeightId find(std::string_view name) const;

    const Weight& operator[](WeightId id) const { return weights_[id.index()]; }
    size_t size() const { return weights_.size(); }
    std::span<const Weight> all() const { return weights_; }

  private:
    std::vector<Weight> weights_;
    std::unordered_map<std::string, WeightId> by_name_;
};

}  // namespace ingot::graph
