// A record for each piece of memory that a kernel touches: of four bytes, or of one byte where some access is
// smaller or misaligned. Made page by page when touched first; finding a page again takes a look at the last
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ingot::metal::check {

template <typename Cell>
class Shadow {
  public:
    // visit(cell, address, bytes) for each piece of [address, address + size).
    template <typename Visit>
    void for_each(uint64_t address, uint64_t size_bytes, Visit visit) {
        const bool words = ((address | size_bytes) & 3) == 0;
        for (uint64_t end = address + size_bytes; address < end;) {
            Page& page = page_of(address);
            if (!words && page.unit == 4) split(page);
            const uint64_t stop = std::min(end, (address / kPageBytes + 1) * kPageBytes);
            for (; address < stop; address += page.unit) {
                visit(page.cells[address % kPageBytes / page.unit], address, page.unit);
            }
        }
    }

  private:
    static constexpr uint64_t kPageBytes = 4096;
    struct Page {
        uint32_t unit = 4;
        std::vector<Cell> cells = std::vector<Cell>(kPageBytes / 4);
    };

    Page& page_of(uint64_t address) {
        const uint64_t number = address / kPageBytes;
        if (number != last_number_) {
            std::unique_ptr<Page>& page = pages_[number];
            if (page == nullptr) page = std::make_unique<Page>();
            last_ = page.get();
            last_number_ = number;
        }
        return *last_;
    }

    static void split(Page& page) {
        std::vector<Cell> bytes(kPageBytes);
        for (uint64_t i = 0; i < kPageBytes; ++i) bytes[i] = page.cells[i / 4];
        page.cells = std::move(bytes);
        page.unit = 1;
    }

    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
    Page* last_ = nullptr;
    uint64_t last_number_ = ~uint64_t{0};
};

}  // namespace ingot::metal::check
