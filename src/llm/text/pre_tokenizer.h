// The step before byte-pair encoding: cuts text into the words that merges stay within. A GGUF file names its
// way of doing that in tokenizer.ggml.pre; the table in pre_tokenizer.cpp has a row for each name that is
// known.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/text/regex.h"

namespace ingot {

// Which words become the token of the same text at once, whatever the merges say.
enum class WholeWords { kNone, kAll, kNewlines };

struct PreTokenizerRow {
    std::string_view name;
    // Applied one after the other: the matches of one and the gaps between them are what the next one cuts.
    std::span<const std::string_view> patterns;
    WholeWords whole_words = WholeWords::kNone;
    // BOS is added unless the file says otherwise.
    bool adds_bos = false;
    // Merges work on characters with U+2581 for spaces, and bytes without a token are "<0xNN>"; else they
    // work on bytes, each written as one printable character.
    bool on_characters = false;
};

std::span<const PreTokenizerRow> pre_tokenizer_rows();

class PreTokenizer {
  public:
    // kUnsupported for a name without a row.
    static Result<PreTokenizer> create(std::string_view name);

    const PreTokenizerRow& row() const { return *row_; }
    // Appends the words of `text` in order; joined they are `text`, which is valid UTF-8.
    Result<void> split(std::string_view text, std::vector<std::string_view>& words) const;

  private:
    PreTokenizer(const PreTokenizerRow* row, std::vector<Regex> steps)
        : row_(row), steps_(std::move(steps)) {}
    const PreTokenizerRow* row_;
    std::vector<Regex> steps_;
};

}  // namespace ingot
