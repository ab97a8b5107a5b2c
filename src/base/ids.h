// Typed ids: Id<struct NodeTag> is a 32-bit index that converts to no other id and to no integer by accident.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace ingot {

template <typename Tag>
class Id {
  public:
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

    constexpr Id() = default;
    constexpr explicit Id(uint32_t index) : index_(index) {}

    constexpr uint32_t index() const { return index_; }
    constexpr bool valid() const { return index_ != kNone; }
    constexpr auto operator<=>(const Id&) const = default;

  private:
    uint32_t index_ = kNone;
};

}  // namespace ingot

template <typename Tag>
struct std::hash<ingot::Id<Tag>> {
    size_t operator()(ingot::Id<Tag> id) const noexcept { return std::hash<uint32_t>{}(id.index()); }
};
