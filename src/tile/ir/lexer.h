// Splits .tile text into tokens. Line ends are tokens, except inside ( ) and [ ]; // starts a comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

enum class TokenKind : uint8_t { kName, kNumber, kText, kSign, kLineEnd, kEnd };

struct Token {
    TokenKind kind = TokenKind::kEnd;
    std::string text;  // of kText: without quotes and escapes
    SourceLoc loc = {};
    double value = 0;       // of kNumber
    bool is_whole = false;  // of kNumber: written without point or exponent
};

// Errors name `file`.
Result<std::vector<Token>> lex(std::string_view text, std::string_view file);

}  // namespace ingot::tile
