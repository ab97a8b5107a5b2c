// Splits a template into tokens the way Jinja does with trim_blocks and lstrip_blocks on (as transformers
// sets it up): text between tags, tag borders, and the words inside tags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/text/jinja/ast.h"

namespace ingot::jinja {

enum class TokenKind : uint8_t {
    kData,
    kBlockBegin,
    kBlockEnd,
    kVariableBegin,
    kVariableEnd,
    kName,
    kString,  // text is unescaped
    kInteger,
    kFloat,
    kOperator,
    kEnd,
};

struct Token {
    TokenKind kind;
    Position at;
    std::string text;
    int64_t integer = 0;
    double real = 0;

    bool is_operator(std::string_view symbol) const { return kind == TokenKind::kOperator && text == symbol; }
    bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
    // As messages name it: "end of statement block", "'foo'".
    std::string describe() const;
};

// Error: kCorrupt with line and column; kLimit for a template too large to index.
Result<std::vector<Token>> tokenize(std::string_view source);

// "line 3, column 14", the `where` of an Error.
std::string describe(const Position& at);

}  // namespace ingot::jinja
