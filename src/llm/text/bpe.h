// Byte-pair encoding with the merges of a GGUF file, over bytes (GPT-2's alphabet of printable characters) or
// over characters (Gemma 4). Cutting text into words is pre_tokenizer.h; special tokens are gone before.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "llm/text/encode_work.h"
#include "llm/text/joint_filter.h"
#include "llm/text/merger.h"
#include "llm/text/pre_tokenizer.h"
#include "llm/text/vocabulary.h"

namespace ingot {

class Bpe {
  public:
    // Reads tokenizer.ggml.merges; kCorrupt for a merge that isn't two texts.
    static Result<Bpe> from_gguf(const gguf::File& file, const Vocabulary& vocabulary, PreTokenizer pre);

    const PreTokenizerRow& row() const { return pre_.row(); }
    // Appends the tokens of `text`, valid UTF-8. kInvalidArgument names a byte that no token stands for.
    Result<void> encode(const Vocabulary& vocabulary, std::string_view text, std::vector<TokenId>& ids,
                        EncodeWork& work) const;
    // The bytes that a normal token stands for.
    std::string piece(std::string_view token_text) const;

  private:
    explicit Bpe(PreTokenizer pre) : pre_(std::move(pre)) {}
    Result<void> read_merges(const gguf::File& file, const Vocabulary& vocabulary);
    // A symbol is a token id, or above them the number of a text that only merges know.
    uint32_t intern(const Vocabulary& vocabulary, std::string_view text);
    uint32_t find_symbol(const Vocabulary& vocabulary, std::string_view text) const;
    Merge find_merge(const Symbol& left, const Symbol& right) const;

    Result<void> encode_word(const Vocabulary& vocabulary, std::string_view word, Merger& merger,
                             std::vector<TokenId>& ids, EncodeWork& work) const;
    TokenId find_whole(const Vocabulary& vocabulary, std::string_view word) const;
    Result<void> append_bytes(std::string_view bytes, std::vector<TokenId>& ids) const;

    struct Rule {
        uint32_t left;
        uint32_t right;
        uint32_t result;
    };
    PreTokenizer pre_;
    JointFilter joints_;       // on_characters only
    std::vector<Rule> rules_;  // the index is the rank
    ProbeTable rules_by_pair_;
    std::unordered_map<std::string, uint32_t> extra_symbols_;
    std::array<uint32_t, 256> byte_symbols_;  // what a byte is before any merge; not on_characters
    std::array<TokenId, 256> byte_ids_;       // what a byte that no token holds becomes
};

}  // namespace ingot
