// Expressions of a program, by precedence climbing over the operators' table (ops.h).
#pragma once

#include "tile/ir/parse_cursor.h"

namespace ingot::tile {

class ExpressionParser : public ParseCursor {
  public:
    using ParseCursor::ParseCursor;

  protected:
    Result<ExprId> expr(int least = 0);
    static const ExprOpFacts* infix(std::string_view sign);
    Result<ExprId> prefix();
    Result<ExprId> primary();
    Result<ExprId> named(const Token& t);
    Failure wrong_rank(const Token& t, size_t given, size_t wanted) const;
    Result<std::vector<ExprId>> bracketed();
    Result<ExprId> call(const Token& t);
};

}  // namespace ingot::tile
