// Where weights lie on the device: in the mapped file itself, wrapped without a copy, one buffer for each
// part of the model, or in buffers of their own. Offsets are what kernels get beside the buffer.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "llm/backend/metal/command_stream.h"
#include "llm/graph/weights.h"

namespace ingot::mtl {

class WeightStore {
  public:
    // `mappings`: page-aligned memory that outlives the store and may be read up to the end of its last page.
    WeightStore(const Device& device, std::vector<std::span<const std::byte>> mappings)
        : device_(device), mappings_(std::move(mappings)), buffers_(mappings_.size()) {}

    // Copies what lies in no mapping, or isn't aligned there as its kernels want it. No effect the second
    // time.
    Result<void> add(const graph::Weight& weight, graph::WeightId id, size_t alignment_bytes);
    // An invalid place (no buffer) if it wasn't added.
    Bound find(graph::WeightId id) const;

    uint64_t size_bytes() const { return size_bytes_; }
    uint64_t copied_bytes() const { return copied_bytes_; }

  private:
    // The wrapped mapping that holds the weight; no buffer if none does.
    Result<Bound> in_mapping(const graph::Weight& weight, size_t alignment_bytes);

    const Device& device_;
    const std::vector<std::span<const std::byte>> mappings_;
    std::vector<NS::SharedPtr<MTL::Buffer>> buffers_;  // by mapping; made when one is needed
    std::vector<NS::SharedPtr<MTL::Buffer>> copies_;
    std::map<graph::WeightId, Bound> places_;
    uint64_t size_bytes_ = 0, copied_bytes_ = 0;
};

}  // namespace ingot::mtl
