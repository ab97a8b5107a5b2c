// SentencePiece's way with a scored vocabulary (Llama 2, Phi-3, Gemma): characters merge to the neighbour
// pair whose joint token has the best score, until no pair is a token; what is no token becomes byte tokens.
// The source is the "bpe" model type of SentencePiece. Space prefixes and special tokens are tokenizer.cpp's.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "llm/text/encode_work.h"
#include "llm/text/joint_filter.h"
#include "llm/text/merger.h"
#include "llm/text/vocabulary.h"

namespace ingot {

class Spm {
  public:
    // kCorrupt if the vocabulary has no scores.
    static Result<Spm> create(const Vocabulary& vocabulary);

    // Appends the tokens of `text`, valid UTF-8. kInvalidArgument if a byte has no token and there is no
    // unknown token either.
    Result<void> encode(const Vocabulary& vocabulary, std::string_view text, std::vector<TokenId>& ids,
                        EncodeWork& work) const;

  private:
    Result<void> encode_stretch(const Vocabulary& vocabulary, std::string_view text, Merger& merger,
                                std::vector<TokenId>& ids, EncodeWork& work) const;
    Result<void> append_bytes(const Vocabulary& vocabulary, std::string_view character,
                              std::vector<TokenId>& ids) const;

    JointFilter joints_;
    std::array<TokenId, 256> byte_ids_;
};

}  // namespace ingot
