// Tells where merging can't happen: between two characters that stand side by side in no token. Cutting a
// text there first changes no result, since merges on either side don't depend on each other, and turns one
// heap over a megabyte into many that stay in the cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/text/probe_table.h"
#include "llm/text/utf8.h"

namespace ingot {

class JointFilter {
  public:
    // Learns the neighbours inside a token.
    void learn(std::string_view token) {
        for_each_joint(token, [this](size_t, uint64_t bit) { bits_[bit / 64] |= uint64_t{1} << (bit % 64); });
    }

    // Calls visit(stretch) for the stretches of `text` that merge on their own; joined they are `text`. A
    // joint that no token has may be kept (the filter is a hash of few bits), one that a token has is never
    // cut.
    template <typename Visit>
    void split(std::string_view text, Visit&& visit) const {
        size_t begin = 0;
        for_each_joint(text, [&](size_t at, uint64_t bit) {
            if ((bits_[bit / 64] >> (bit % 64)) & 1) return;
            visit(text.substr(begin, at - begin));
            begin = at;
        });
        if (begin < text.size()) visit(text.substr(begin));
    }

  private:
    static constexpr uint64_t kNumBits = 1u << 21;

    // Text of a file need not be valid UTF-8: a character that is cut off is as long as what is left.
    template <typename Visit>
    static void for_each_joint(std::string_view text, Visit&& visit) {
        uint64_t previous = 0;
        for (size_t at = 0; at < text.size();) {
            const size_t length = std::min(utf8_length(text[at]), text.size() - at);
            uint64_t character = 0;
            for (size_t i = 0; i < length; ++i)
                character = character << 8 | static_cast<unsigned char>(text[at + i]);
            if (at != 0) visit(at, mix_bits(previous << 32 | character) % kNumBits);
            previous = character;
            at += length;
        }
    }

    std::vector<uint64_t> bits_ = std::vector<uint64_t>(kNumBits / 64);
};

}  // namespace ingot
