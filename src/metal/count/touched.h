// Which bytes were touched, a bit each, page by page. Addresses or offsets: whoever adds decides.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ingot::metal::count {

class Touched {
  public:
    Touched() = default;
    Touched(Touched&&) = default;
    Touched& operator=(Touched&&) = default;
    Touched(const Touched&) = delete;
    Touched& operator=(const Touched&) = delete;

    void add(uint64_t begin, uint64_t size_bytes) {
        const uint64_t bit = begin % 64;
        if (begin / kPageBytes != last_number_ || bit + size_bytes > 64 || size_bytes == 0)
            return add_anywhere(begin, size_bytes);
        (*last_)[begin % kPageBytes / 64] |= (~uint64_t{0} >> (64 - size_bytes)) << bit;
    }
    void add(const Touched& other);
    void remove(uint64_t begin, uint64_t size_bytes);
    // Blocks with a byte that was touched; of at most 64 bytes, or of multiples of 64.
    uint64_t blocks(uint64_t block_bytes) const;
    // The first byte that is in both.
    std::optional<uint64_t> first_common(const Touched& other) const;

  private:
    static constexpr uint64_t kPageBytes = 1 << 16;
    using Page = std::vector<uint64_t>;

    Page& page_of(uint64_t number);
    void add_anywhere(uint64_t begin, uint64_t size_bytes);
    template <typename Change>
    void for_each_word(uint64_t begin, uint64_t size_bytes, Change change);

    std::unordered_map<uint64_t, Page> pages_;
    Page* last_ = nullptr;  // accesses come side by side
    uint64_t last_number_ = ~uint64_t{0};
};

}  // namespace ingot::metal::count
