// Preprocessed Metal source as tokens. Owns the text and knows at which file and line each token stands, as
// the preprocessor's line markers say. Whitespace, comments, markers and pragmas aren't tokens: they stay
// with the token they precede, so that printing all of it gives the text back. `>` is always a token of its
// own, which makes matching angle brackets simple. What tokens mean is outline.h's business.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::metal::msl {

enum class TokenKind : uint8_t { kWord, kNumber, kString, kCharacter, kPunctuation, kEnd };

struct Token {
    TokenKind kind = TokenKind::kEnd;
    uint16_t file = 0;
    uint32_t line = 1;
    std::string_view leading;  // everything between the token before and this one
    std::string_view text;

    bool is(std::string_view expected) const { return text == expected && kind != TokenKind::kString; }
    bool is_word() const { return kind == TokenKind::kWord; }
};

// A half-open range of token indices.
struct Range {
    size_t begin = 0, end = 0;

    bool empty() const { return begin >= end; }
    bool contains(size_t index) const { return begin <= index && index < end; }
};

class Tokens {
  public:
    // `file` names the text up to its first line marker. Errors: kCorrupt with file and line (a string
    // without end, a directive that the preprocessor should have consumed), kLimit.
    static Result<Tokens> lex(std::string text, std::string_view file);

    size_t size() const { return tokens_.size() - 1; }  // without the end
    const Token& operator[](size_t index) const { return tokens_[std::min(index, tokens_.size() - 1)]; }
    // "kernels/norm.metal:12"
    std::string place(size_t index) const;
    const std::string& file_of(size_t index) const { return files_[(*this)[index].file]; }
    // The text of a range on one line.
    std::string text(Range range) const;

    // The bracket that closes the one at `open` ("(", "[" or "{"); size() if none does.
    size_t closing(size_t open) const { return closing_[open]; }
    // The ">" that closes the template argument list opened by "<" at `open`; size() if it opens none.
    size_t closing_angle(size_t open) const { return closing_[open]; }

  private:
    friend class Lexer;
    Result<void> match_brackets();

    std::shared_ptr<const std::string> source_;
    std::vector<std::string> files_;
    std::vector<Token> tokens_;    // the last is the end, with trailing whitespace
    std::vector<size_t> closing_;  // of brackets and angle brackets
};

}  // namespace ingot::metal::msl
