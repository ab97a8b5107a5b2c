#include "llm/backend/metal/weight_store.h"

#include <cstring>

#include <unistd.h>

namespace ingot::mtl {

Result<Bound> WeightStore::in_mapping(const graph::Weight& weight, size_t alignment_bytes) {
    const std::byte* data = weight.data.data();
    for (size_t i = 0; i < mappings_.size(); ++i) {
        const std::span<const std::byte> all = mappings_[i];
        if (data < all.data() || data >= all.data() + all.size()) continue;
        const auto offset = size_t(data - all.data());
        if (offset % alignment_bytes != 0) return Bound{};
        if (!buffers_[i]) {
            const auto page = size_t(::sysconf(_SC_PAGESIZE));
            const size_t whole_pages = (all.size() + page - 1) / page * page;
            // The file's owner unmaps it. With a null deallocator the call is the same against Apple's
            // headers.
            buffers_[i] = NS::TransferPtr(
                device_->newBuffer(all.data(), whole_pages, MTL::ResourceStorageModeShared, nullptr));
            if (!buffers_[i]) {
                return fail(ErrorKind::kLimit,
                            "the Metal device can't map {} bytes of weights; at most {} in a buffer",
                            whole_pages, device_->maxBufferLength());
            }
        }
        return Bound{buffers_[i].get(), offset};
    }
    return Bound{};
}

Result<void> WeightStore::add(const graph::Weight& weight, graph::WeightId id, size_t alignment_bytes) {
    if (places_.contains(id)) return {};
    INGOT_ASSIGN(Bound place, in_mapping(weight, alignment_bytes));
    if (place.buffer == nullptr) {
        INGOT_ASSIGN(auto copy, device_.new_buffer(weight.data.size()));
        std::memcpy(copy->contents(), weight.data.data(), weight.data.size());
        place = {copy.get(), 0};
        copies_.push_back(std::move(copy));
        copied_bytes_ += weight.data.size();
    }
    size_bytes_ += weight.data.size();
    places_.emplace(id, place);
    return {};
}

Bound WeightStore::find(graph::WeightId id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? Bound{} : found->second;
}

}  // namespace ingot::mtl
