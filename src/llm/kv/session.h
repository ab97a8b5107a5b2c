// A session file: the tokens of a sequence and the KV rows that they led to, so that a later process goes on
// without running them again, with a note of the writer's (a conversation's messages). The file names its
// version, the model (a fingerprint), format and shape of the cells, and ends with a checksum; all of it is
// verified before a row is written anywhere.
#pragma once

#include <string>

#include "llm/kv/rows.h"
#include "llm/text/tokenizer.h"

namespace ingot::kv {

// What rows depend on besides the tokens.
struct SessionShape {
    uint64_t model = 0;  // fingerprint of the weights
    Format format = Format::kF32;
    std::span<const LayerCells> layers;
};

// Writes the sequence that lies in `runs` and whose tokens are `tokens`. The file appears whole or not at
// all.
Result<void> save_session(const std::string& path, const SessionShape& shape, std::span<const Run> runs,
                          std::span<const TokenId> tokens, std::string_view note);

// A session file that was read and found to be of this shape.
class Session {
  public:
    // kNotFound: no such file; kCorrupt: a damaged session; kUnsupported: of a later version;
    // kInvalidArgument: no session, or of another model, format or shape.
    static Result<Session> read(const std::string& path, const SessionShape& shape);

    std::span<const TokenId> tokens() const { return tokens_; }
    std::string_view note() const {
        return std::string_view(file_).substr(rows_at_ - note_bytes_, note_bytes_);
    }
    // Writes the rows of the first tokens to the cells of `runs`, in order; as many as the runs hold.
    Result<void> restore(std::span<const LayerCells> layers, std::span<const Run> runs) const;

  private:
    std::span<const std::byte> bytes() const { return std::as_bytes(std::span(file_)); }

    std::string file_;
    std::vector<TokenId> tokens_;
    Format format_ = Format::kF32;
    size_t note_bytes_ = 0;
    size_t rows_at_ = 0;  // [layers][K, V][tokens] rows
};

}  // namespace ingot::kv
