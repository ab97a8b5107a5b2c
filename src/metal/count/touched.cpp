#include "metal/count/touched.h"

#include <algorithm>
#include <bit>

namespace ingot::metal::count {

Touched::Page& Touched::page_of(uint64_t number) {
    if (number != last_number_) {
        Page& page = pages_[number];
        if (page.empty()) page.resize(kPageBytes / 64);
        last_ = &page;
        last_number_ = number;
    }
    return *last_;
}

// change(word, mask) for each 64 bytes.
template <typename Change>
void Touched::for_each_word(uint64_t begin, uint64_t size_bytes, Change change) {
    while (size_bytes != 0) {
        const uint64_t bit = begin % 64, count = std::min(size_bytes, 64 - bit);
        change(page_of(begin / kPageBytes)[begin % kPageBytes / 64], (~uint64_t{0} >> (64 - count)) << bit);
        begin += count;
        size_bytes -= count;
    }
}

void Touched::add_anywhere(uint64_t begin, uint64_t size_bytes) {
    for_each_word(begin, size_bytes, [](uint64_t& word, uint64_t mask) { word |= mask; });
}

void Touched::add(const Touched& other) {
    for (const auto& [number, page] : other.pages_) {
        Page& mine = page_of(number);
        for (size_t word = 0; word < page.size(); ++word) mine[word] |= page[word];
    }
}

void Touched::remove(uint64_t begin, uint64_t size_bytes) {
    for_each_word(begin, size_bytes, [](uint64_t& word, uint64_t mask) { word &= ~mask; });
}

uint64_t Touched::blocks(uint64_t block_bytes) const {
    uint64_t count = 0;
    for (const auto& [number, page] : pages_) {
        if (block_bytes == 1) {
            for (const uint64_t word : page) count += uint64_t(std::popcount(word));
            continue;
        }
        for (size_t at = 0; at < kPageBytes; at += block_bytes) {
            uint64_t any = 0;
            if (block_bytes < 64) {
                any = page[at / 64] >> at % 64 & ((uint64_t{1} << block_bytes) - 1);
            } else {
                for (size_t word = at / 64; word < (at + block_bytes) / 64; ++word) any |= page[word];
            }
            count += any != 0;
        }
    }
    return count;
}

std::optional<uint64_t> Touched::first_common(const Touched& other) const {
    std::optional<uint64_t> first;
    for (const auto& [number, page] : pages_) {
        const auto found = other.pages_.find(number);
        if (found == other.pages_.end()) continue;
        for (size_t word = 0; word < page.size(); ++word) {
            const uint64_t both = page[word] & found->second[word];
            if (both == 0) continue;
            const uint64_t at = number * kPageBytes + word * 64 + uint64_t(std::countr_zero(both));
            first = std::min(first.value_or(at), at);
            break;
        }
    }
    return first;
}

}  // namespace ingot::metal::count
