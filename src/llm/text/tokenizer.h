// Text <-> token ids with the vocabulary of a GGUF file: byte-level BPE and SentencePiece-style SPM.
// Chat templates are chat_template.h; choosing the next token is sampler.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/gguf/gguf.h"

namespace ingot {

using TokenId = int32_t;
struct EncodeWork;  // encode_work.h

struct EncodeOptions {
    bool add_special = true;    // BOS/EOS as the vocabulary asks for (one BOS, never two)
    bool parse_special = true;  // "<|im_end|>" in the text becomes its token; false: it is plain text
};

class Tokenizer {
  public:
    // Works on any GGUF that holds a vocabulary. Errors: no vocabulary, unknown tokenizer model or
    // pre-tokenizer (kUnsupported, named), inconsistent arrays (kCorrupt). Copies what it needs out of the
    // file.
    static Result<Tokenizer> from_gguf(const gguf::File& file);

    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer& operator=(Tokenizer&&) noexcept;
    ~Tokenizer();

    // Any bytes are accepted; invalid UTF-8 is kInvalidArgument with the byte offset.
    // Any number of threads may encode at once. `work`, where given, counts what it cost.
    Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {},
                                        EncodeWork* work = nullptr) const;

    // The bytes of one token as they appear in text (not always whole UTF-8 characters). Control tokens yield
    // their name if `special`, else nothing. The id must be < vocab_size(), else empty.
    std::string_view piece(TokenId id, bool special = false) const;
    // All ids at once, with the vocabulary's rule for leading spaces undone: decode(encode(s)) == s.
    std::string decode(const std::vector<TokenId>& ids, bool special = false) const;

    uint32_t vocab_size() const;
    TokenId bos() const;  // -1 where there is none
    TokenId eos() const;
    bool adds_bos() const;
    bool is_end_of_generation(TokenId id) const;  // eos, eot, <|im_end|>, <end_of_turn>, ...
    bool is_control(TokenId id) const;
    // The id whose vocabulary text is exactly `text`, or -1.
    TokenId find(std::string_view text) const;

  private:
    struct Impl;
    explicit Tokenizer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

// Joins token pieces to a stream of whole UTF-8 characters: an incomplete tail is held until its rest
// arrives.
class Utf8Stream {
  public:
    // The longest prefix of what is held plus `bytes` that ends at a character boundary. Bytes that can't
    // start or continue a character pass through at once.
    std::string push(std::string_view bytes);
    std::string flush();  // whatever is still held

  private:
    std::string held_;
};

}  // namespace ingot
