// The merge loop that byte-pair encoding and SentencePiece share: a row of symbols, and again and again the
// best pair of neighbours becomes one symbol. With a heap of candidates it costs n log n, also for a run of a
// million equal characters. What the best pair is, and what it becomes, is for the caller to say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "llm/text/encode_work.h"

namespace ingot {

// A stretch [begin, begin + size) of the text.
struct Symbol {
    static constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();
    uint32_t begin;
    uint32_t size;  // 0: merged into an earlier symbol
    uint32_t id;    // kUnknown: no entry of the vocabulary
    uint32_t prev;
    uint32_t next;
};

// What a pair becomes. Lower priorities go first, and of equal ones the leftmost.
struct Merge {
    uint32_t id = Symbol::kUnknown;  // kUnknown: the pair doesn't merge
    uint32_t priority = 0;
};

class Merger {
  public:
    void clear() { symbols_.clear(); }
    void add(uint32_t begin, uint32_t size, uint32_t id) {
        const auto index = static_cast<uint32_t>(symbols_.size());
        symbols_.push_back({begin, size, id, index - 1, index + 1});
    }

    // find(left, right) -> Merge, called for neighbours.
    template <typename Find>
    void run(Find&& find, EncodeWork& work);

    // Calls visit(symbol) for those that are left, in order.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        for (const Symbol& symbol : symbols_) {
            if (symbol.size != 0) visit(symbol);
        }
    }

  private:
    struct Candidate {
        uint64_t order;  // priority, then position
        uint32_t id;
        uint32_t size;
        bool operator<(const Candidate& other) const {
            return order > other.order;
        }  // the heap's top is least
    };
    std::vector<Symbol> symbols_;
    std::vector<Candidate> heap_;
};

template <typename Find>
void Merger::run(Find&& find, EncodeWork& work) {
    const auto count = static_cast<uint32_t>(symbols_.size());
    const auto consider = [&](uint32_t left, uint32_t right) {
        if (left >= count || right >= count) return false;
        const Merge merge = find(symbols_[left], symbols_[right]);
        ++work.merge_lookups;
        if (merge.id == Symbol::kUnknown) return false;
        ++work.merge_candidates;
        heap_.push_back(
            {(uint64_t{merge.priority} << 32) | left, merge.id, symbols_[left].size + symbols_[right].size});
        return true;
    };
    heap_.clear();
    for (uint32_t i = 0; i + 1 < count; ++i) consider(i, i + 1);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end());
        const Candidate best = heap_.back();
        heap_.pop_back();
        const auto left_index = static_cast<uint32_t>(best.order);
        Symbol& left = symbols_[left_index];
        // Stale if either symbol has merged since. Symbols only grow, so equal outer borders mean the same
        // pair.
        if (left.size == 0 || left.next >= count || left.size + symbols_[left.next].size != best.size)
            continue;
        Symbol& right = symbols_[left.next];
        left.size = best.size;
        left.id = best.id;
        left.next = right.next;
        right.size = 0;
        if (left.next < count) symbols_[left.next].prev = left_index;
        if (consider(left.prev, left_index)) std::push_heap(heap_.begin(), heap_.end());
        if (consider(left_index, left.next)) std::push_heap(heap_.begin(), heap_.end());
    }
}

}  // namespace ingot
