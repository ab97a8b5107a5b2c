#include "llm/graph/weights.h"

#include <charconv>

namespace ingot::graph {

std::optional<uint32_t> block_of(std::string_view weight_name) {
    constexpr std::string_view kPrefix = "blk.";
    if (!weight_name.starts_with(kPrefix)) return std::nullopt;
    const std::string_view digits = weight_name.substr(kPrefix.size());
    uint32_t block = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), block);
    if (error != std::errc() || end == digits.data() + digits.size() || *end != '.') return std::nullopt;
    return block;
}

Result<WeightId> WeightTable::add(Weight weight) {
    if (by_name_.contains(weight.name)) {
        return fail(ErrorKind::kInvalidArgument, "weight '{}' is registered twice", weight.name);
    }
    const QuantTraits& storage = ingot::traits(weight.type);
    const uint64_t count = uint64_t(weight.rows) * weight.cols;
    if (count == 0) {
        return fail(ErrorKind::kInvalidArgument,
                    "weight '{}' has {} rows of {} elements; at least one of each is accepted", weight.name,
                    weight.rows, weight.cols);
    }
    if (weight.cols % storage.block_size != 0) {
        return fail(ErrorKind::kCorrupt, "weight '{}' has rows of {} elements; {} accepts multiples of {}",
                    weight.name, weight.cols, storage.name, storage.block_size);
    }
    const uint64_t expected = count / storage.block_size * storage.block_size_bytes;
    if (!weight.data.empty() && weight.data.size() != expected) {
        return fail(ErrorKind::kCorrupt, "weight '{}' ({} x {} {}) has {} bytes of data, {} expected",
                    weight.name, weight.rows, weight.cols, storage.name, weight.data.size(), expected);
    }
    const WeightId id(uint32_t(weights_.size()));
    by_name_.emplace(weight.name, id);
    weights_.push_back(std::move(weight));
    return id;
}

WeightId WeightTable::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? WeightId() : found->second;
}

}  // namespace ingot::graph
