// Counts what encoding a text costs, so that tests can assert that the cost is linear without measuring time.
#pragma once

#include <cstdint>

namespace ingot {

struct EncodeWork {
    uint64_t special_steps = 0;     // trie edges looked at
    uint64_t words = 0;             // pieces that the pre-tokenizer made
    uint64_t merge_lookups = 0;     // pairs of neighbours looked up
    uint64_t merge_candidates = 0;  // pairs that entered the heap

    uint64_t total() const { return special_steps + words + merge_lookups + merge_candidates; }
};

}  // namespace ingot
