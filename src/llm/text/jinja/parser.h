// Tokens to a tree (ast.h). Grammar and precedence are Jinja's; what it has for whole web sites (inheritance,
// includes, imports, translation) is refused by name.
#pragma once

#include <string_view>

#include "base/result.h"
#include "llm/text/jinja/ast.h"

namespace ingot::jinja {

// Error: kCorrupt or kUnsupported, with "line L, column C" as its `where`; kLimit if nested deeper than
// max_depth.
Result<Body> parse(std::string_view source, uint32_t max_depth);

}  // namespace ingot::jinja
