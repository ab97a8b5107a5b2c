// Finds the tokens that are taken out of a text before anything else is done to it: control tokens by name,
// and tokens that the model's maker added. At each place the longest one wins, from left to right.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "llm/text/encode_work.h"
#include "llm/text/vocabulary.h"

namespace ingot {

// A stretch of text, or (token != kNoToken) a special token.
struct Fragment {
    std::string_view text;
    TokenId token = kNoToken;
};

// Which tokens swallow the white space next to them. No GGUF key says so; it is known by model.
struct StripRules {
    std::vector<bool> left;  // [vocabulary size], or empty for none
    std::vector<bool> right;
    // Reads general.name and tokenizer.ggml.pre.
    static StripRules from_gguf(const gguf::File& file, const Vocabulary& vocabulary);
};

class SpecialTokens {
  public:
    SpecialTokens(const Vocabulary& vocabulary, StripRules rules);

    // Fragments in order, none of them empty. Without `named`, control and unknown tokens are plain text.
    // `vocabulary` is the one that the object was made of. Linear in the text: each place looks at no more
    // bytes than the longest special token has.
    std::vector<Fragment> split(const Vocabulary& vocabulary, std::string_view text, bool named,
                                EncodeWork& work) const;

  private:
    void insert(std::string_view name, TokenId id);
    uint32_t child_of(uint32_t node, unsigned char byte) const;
    // The longest special token that starts `text`.
    TokenId longest_match(const Vocabulary& vocabulary, std::string_view text, bool named,
                          EncodeWork& work) const;

    // A trie over bytes. Edges are kept in a table by (node, byte); a node's number is the index of the edge
    // that leads to it plus one, the root is 0.
    struct Edge {
        uint32_t from;
        unsigned char byte;
        TokenId token;  // the token that ends here
    };
    std::vector<Edge> edges_;
    ProbeTable edges_by_key_;
    std::array<bool, 256> starts_{};  // bytes that some special token starts with
    StripRules rules_;
};

}  // namespace ingot
