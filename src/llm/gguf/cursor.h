// Reads little-endian scalars and strings from bytes that nobody vouches for: each read is checked against
// what is left, so that no count or length in a file can lead outside it. Knows nothing of GGUF's structure.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace ingot::gguf {

static_assert(std::endian::native == std::endian::little, "GGUF is read in place as little-endian");

class Cursor {
  public:
    explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

    uint64_t offset() const { return offset_; }
    uint64_t remaining() const { return bytes_.size() - offset_; }

    // `field` names what is being read, for the message of a file that ends too early.
    Result<std::span<const std::byte>> bytes(uint64_t count, std::string_view field);

    template <typename T>
        requires std::is_arithmetic_v<T>
    Result<T> scalar(std::string_view field) {
        INGOT_ASSIGN(const std::span<const std::byte> raw, bytes(sizeof(T), field));
        T value;
        std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }

    // A length of 64 bits, then that many bytes; kCorrupt above `max_bytes`. The view is into the bytes.
    Result<std::string_view> string(std::string_view field, uint64_t max_bytes = UINT64_MAX);

    // Errors unless `count` items of at least `min_bytes` each can still follow: to be asked before a loop or
    // an allocation that `count` decides.
    Result<void> expect_items(uint64_t count, uint64_t min_bytes, std::string_view field) const;

  private:
    std::span<const std::byte> bytes_;
    uint64_t offset_ = 0;
};

}  // namespace ingot::gguf
