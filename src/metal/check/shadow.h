// A record for each piece of memory that a kernel touches: of four bytes, or of one byte where some access is
// smaller or misaligned. Made page by page when touched first; the pages that were used last are found
// without a search.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ingot::metal::check {

template <typename Cell>
class Shadow {
  public:
    // Of an aligned word on a page in use that isn't split, or null.
    Cell* word(uint64_t address) {
        const Recent& recent = recent_[address / kPageBytes % kNumRecent];
        if (recent.number != address / kPageBytes || (address & 3) != 0 || recent.page->split) return nullptr;
        return &recent.page->cells[address % kPageBytes / 4];
    }

    // visit(cell, address, bytes) for each piece of [address, address + size).
    template <typename Visit>
    void for_each(uint64_t address, uint64_t size_bytes, Visit visit) {
        const bool words = ((address | size_bytes) & 3) == 0;
        for (const uint64_t end = address + size_bytes; address < end;) {
            Page& page = page_of(address / kPageBytes);
            const uint64_t stop = std::min(end, (address / kPageBytes + 1) * kPageBytes);
            if (words && !page.split) {
                for (; address < stop; address += 4) visit(page.cells[address % kPageBytes / 4], address, 4);
                continue;
            }
            if (!page.split) split(page);
            for (; address < stop; ++address) visit(page.cells[address % kPageBytes], address, 1);
        }
    }

  private:
    static constexpr uint64_t kPageBytes = 4096, kNumRecent = 64;
    struct Page {
        bool split = false;
        std::vector<Cell> cells = std::vector<Cell>(kPageBytes / 4);
    };
    struct Recent {
        uint64_t number = ~uint64_t{0};
        Page* page = nullptr;
    };

    Page& page_of(uint64_t number) {
        Recent& recent = recent_[number % kNumRecent];
        if (recent.number != number) recent = {number, &find(number)};
        return *recent.page;
    }

    [[gnu::noinline]] Page& find(uint64_t number) {
        std::unique_ptr<Page>& page = pages_[number];
        if (page == nullptr) page = std::make_unique<Page>();
        return *page;
    }

    [[gnu::noinline]] static void split(Page& page) {
        std::vector<Cell> bytes(kPageBytes);
        for (uint64_t i = 0; i < kPageBytes; ++i) bytes[i] = page.cells[i / 4];
        page.cells = std::move(bytes);
        page.split = true;
    }

    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
    std::array<Recent, kNumRecent> recent_;
};

}  // namespace ingot::metal::check
