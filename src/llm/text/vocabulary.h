// The vocabulary of a GGUF file as the tokenizers see it: texts, kinds, scores, and the ids with a role (BOS,
// EOS, end of generation). Knows nothing of how text is split or merged: bpe.h and spm.h do that,
// tokenizer.cpp joins them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/gguf/gguf.h"
#include "llm/text/probe_table.h"
#include "llm/text/tokenizer.h"

namespace ingot {

inline constexpr TokenId kNoToken = -1;

// Numbers as in tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
    kNormal = 1,
    kUnknown = 2,
    kControl = 3,
    kUserDefined = 4,
    kUnused = 5,
    kByte = 6,
};

// The byte that a byte token named "<0xNN>" stands for.
std::optional<unsigned char> byte_of_name(std::string_view name);

class Vocabulary {
  public:
    // Reads tokens, kinds, scores and special ids. Errors: see Tokenizer::from_gguf.
    static Result<Vocabulary> from_gguf(const gguf::File& file);

    uint32_t size() const { return static_cast<uint32_t>(kinds_.size()); }
    bool contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < kinds_.size(); }
    std::string_view text(TokenId id) const {
        const size_t begin = text_offsets_[static_cast<size_t>(id)];
        return std::string_view(texts_).substr(begin, text_offsets_[static_cast<size_t>(id) + 1] - begin);
    }
    TokenKind kind(TokenId id) const { return kinds_[static_cast<size_t>(id)]; }
    float score(TokenId id) const { return scores_.empty() ? 0.0f : scores_[static_cast<size_t>(id)]; }
    bool has_scores() const { return !scores_.empty(); }
    size_t longest_text() const { return longest_text_; }

    // Control and unknown tokens: they have a name, not a text, and never come out of plain text.
    bool is_named(TokenId id) const {
        return kind(id) == TokenKind::kControl || kind(id) == TokenKind::kUnknown;
    }
    // What plain text may become by merging: neither named nor a byte token.
    bool is_ordinary(TokenId id) const { return !is_named(id) && kind(id) != TokenKind::kByte; }

    TokenId find(std::string_view text) const;
    // The same, for an ordinary token alone.
    TokenId find_ordinary(std::string_view text) const {
        const TokenId id = find(text);
        return id != kNoToken && is_ordinary(id) ? id : kNoToken;
    }
    // The id of the byte token "<0xNN>", or kNoToken.
    TokenId find_byte(unsigned char byte) const;

    TokenId bos() const { return bos_; }
    TokenId eos() const { return eos_; }
    TokenId unknown() const { return unknown_; }
    bool is_end_of_generation(TokenId id) const { return contains(id) && ends_[static_cast<size_t>(id)]; }

  private:
    Result<void> read_texts(const gguf::File& file);
    Result<void> read_kinds(const gguf::File& file);
    Result<void> read_scores(const gguf::File& file);
    Result<void> read_special_ids(const gguf::File& file);
    void assign_roles();

    std::string texts_;
    std::vector<uint32_t> text_offsets_;  // [size + 1]
    std::vector<TokenKind> kinds_;
    std::vector<float> scores_;  // empty if the file has none
    std::vector<bool> ends_;
    ProbeTable ids_by_text_;
    size_t longest_text_ = 0;
    TokenId bos_ = kNoToken;
    TokenId eos_ = kNoToken;
    TokenId unknown_ = kNoToken;
};

}  // namespace ingot
