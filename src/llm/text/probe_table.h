// A hash table of indices into storage that its owner keeps: open addressing, linear probing, no deletion. It
// exists because a vocabulary has half a million entries, and a node-based map makes both loading and lookups
// several times slower.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ingot {

class ProbeTable {
  public:
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

    // Room for `count` indices at a load of at most one half.
    void reset(size_t count) { slots_.assign(std::bit_ceil(2 * count + 2), kNone); }

    // The stored index for which equals(index) holds, or kNone.
    template <typename Equals>
    uint32_t find(uint64_t hash, Equals&& equals) const {
        if (slots_.empty()) return kNone;
        const size_t mask = slots_.size() - 1;
        for (size_t at = hash & mask;; at = (at + 1) & mask) {
            if (slots_[at] == kNone || equals(slots_[at])) return slots_[at];
        }
    }

    // Stores `index` unless an equal one is there; returns the one that is there now.
    template <typename Equals>
    uint32_t insert(uint64_t hash, uint32_t index, Equals&& equals) {
        const size_t mask = slots_.size() - 1;
        size_t at = hash & mask;
        while (slots_[at] != kNone && !equals(slots_[at])) at = (at + 1) & mask;
        if (slots_[at] == kNone) slots_[at] = index;
        return slots_[at];
    }

  private:
    std::vector<uint32_t> slots_;
};

// Spreads the bits of a key of two 32-bit ids (the finalizer of MurmurHash3).
inline uint64_t mix_bits(uint64_t key) {
    key ^= key >> 33;
    key *= 0xff51afd7ed558ccdULL;
    key ^= key >> 33;
    key *= 0xc4ceb9fe1a85ec53ULL;
    return key ^ (key >> 33);
}

}  // namespace ingot
