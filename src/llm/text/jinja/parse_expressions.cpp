#include "llm/text/jinja/parser_impl.h"

namespace ingot::jinja {
namespace {

struct CompareRow {
    std::string_view symbol;
    CompareOp op;
};
constexpr CompareRow kCompare[] = {{"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
                                   {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};

// Binary operators by level: 0 binds loosest. `~` stands between levels 0 and 1.
struct ArithmeticRow {
    std::string_view symbol;
    BinaryOp op;
    int level;
};
constexpr ArithmeticRow kArithmetic[] = {{"+", BinaryOp::kAdd, 0},       {"-", BinaryOp::kSub, 0},
                                         {"*", BinaryOp::kMul, 1},       {"/", BinaryOp::kDiv, 1},
                                         {"//", BinaryOp::kFloorDiv, 1}, {"%", BinaryOp::kMod, 1},
                                         {"**", BinaryOp::kPow, 2}};

const ArithmeticRow* arithmetic_row(const Token& token, int level) {
    for (const ArithmeticRow& row : kArithmetic) {
        if (row.level == level && token.is_operator(row.symbol)) return &row;
    }
    return nullptr;
}

const CompareRow* compare_row(const Token& token) {
    for (const CompareRow& row : kCompare) {
        if (token.is_operator(row.symbol)) return &row;
    }
    return nullptr;
}

}  // namespace

bool Parser::at_tuple_end(std::string_view end_name) const {
    const Token& token = current();
    if (token.kind == TokenKind::kVariableEnd || token.kind == TokenKind::kBlockEnd || token.is_operator(")"))
        return true;
    return !end_name.empty() && token.is_name(end_name);
}

Result<ExprPtr> Parser::parse_tuple(bool with_condition, std::string_view end_name, bool parenthesized) {
    const Position at = current().at;
    Exprs items;
    bool tuple = false;
    while (true) {
        if (!items.empty()) INGOT_TRY(expect_operator(","));
        if (at_tuple_end(end_name)) break;
        INGOT_ASSIGN(ExprPtr item, parse_expression(with_condition));
        items.push_back(std::move(item));
        if (!current().is_operator(",")) break;
        tuple = true;
    }
    if (!tuple && !items.empty()) return std::move(items[0]);
    if (!tuple && !parenthesized)
        return error(current().at, "Expected an expression, got {}", current().describe());
    return make(at, ListExpr{std::move(items), true});
}

Result<ExprPtr> Parser::parse_expression(bool with_condition) {
    const Nesting nesting(depth_, max_depth_, "an expression is");
    INGOT_TRY(located(nesting.ok));
    INGOT_ASSIGN(ExprPtr expr, with_condition ? parse_conditional() : parse_logic(false));
    return bounded(std::move(expr));
}

Result<ExprPtr> Parser::parse_conditional() {
    INGOT_ASSIGN(ExprPtr value, parse_logic(false));
    while (current().is_name("if")) {
        const Nesting nesting(depth_, max_depth_, "an expression is");
        INGOT_TRY(located(nesting.ok));
        const Position at = advance().at;
        INGOT_ASSIGN(ExprPtr test, parse_logic(false));
        ExprPtr otherwise;
        if (skip_name("else")) {
            INGOT_ASSIGN(otherwise, parse_conditional());
        }
        value = make(at, ConditionalExpr{std::move(test), std::move(value), std::move(otherwise)});
        INGOT_ASSIGN(value, bounded(std::move(value)));
    }
    return value;
}

Result<ExprPtr> Parser::parse_logic(bool is_and) {
    const std::string_view word = is_and ? "and" : "or";
    INGOT_ASSIGN(ExprPtr first, is_and ? parse_not() : parse_logic(true));
    if (!current().is_name(word)) return first;
    const Position at = current().at;
    Exprs operands;
    operands.push_back(std::move(first));
    while (skip_name(word)) {
        INGOT_ASSIGN(ExprPtr operand, is_and ? parse_not() : parse_logic(true));
        operands.push_back(std::move(operand));
    }
    return make(at, LogicExpr{is_and, std::move(operands)});
}

Result<ExprPtr> Parser::parse_not() {
    if (!current().is_name("not")) return parse_compare();
    const Nesting nesting(depth_, max_depth_, "an expression is");
    INGOT_TRY(located(nesting.ok));
    const Position at = advance().at;
    INGOT_ASSIGN(ExprPtr operand, parse_not());
    return make(at, UnaryExpr{UnaryExpr::Op::kNot, std::move(operand)});
}

Result<ExprPtr> Parser::parse_compare() {
    INGOT_ASSIGN(ExprPtr first, parse_arithmetic(0));
    const Position at = current().at;
    CompareExpr compare;
    while (true) {
        CompareOp op;
        if (const CompareRow* row = compare_row(current())) {
            op = row->op;
        } else if (current().is_name("in")) {
            op = CompareOp::kIn;
        } else if (current().is_name("not") && look_ahead().is_name("in")) {
            op = CompareOp::kNotIn;
            advance();
        } else {
            break;
        }
        advance();
        INGOT_ASSIGN(ExprPtr operand, parse_arithmetic(0));
        compare.rest.emplace_back(op, std::move(operand));
    }
    if (compare.rest.empty()) return first;
    compare.first = std::move(first);
    return make(at, std::move(compare));
}

Result<ExprPtr> Parser::parse_arithmetic(int level) {
    const auto operand = [&]() -> Result<ExprPtr> {
        if (level == 0) return parse_concat();
        return level == 1 ? parse_arithmetic(2) : parse_unary();
    };
    INGOT_ASSIGN(ExprPtr first, operand());
    if (!arithmetic_row(current(), level)) return first;
    const Position at = current().at;
    ArithmeticExpr chain{std::move(first), {}};
    while (const ArithmeticRow* row = arithmetic_row(current(), level)) {
        advance();
        INGOT_ASSIGN(ExprPtr next, operand());
        chain.rest.emplace_back(row->op, std::move(next));
    }
    return make(at, std::move(chain));
}

Result<ExprPtr> Parser::parse_concat() {
    INGOT_ASSIGN(ExprPtr first, parse_arithmetic(1));
    if (!current().is_operator("~")) return first;
    const Position at = current().at;
    Exprs parts;
    parts.push_back(std::move(first));
    while (skip_operator("~")) {
        INGOT_ASSIGN(ExprPtr part, parse_arithmetic(1));
        parts.push_back(std::move(part));
    }
    return make(at, ConcatExpr{std::move(parts)});
}

Result<ExprPtr> Parser::parse_unary(bool with_filter) {
    const Position at = current().at;
    ExprPtr expr;
    if (current().is_operator("-") || current().is_operator("+")) {
        const Nesting nesting(depth_, max_depth_, "an expression is");
        INGOT_TRY(located(nesting.ok));
        const auto op = advance().is_operator("-") ? UnaryExpr::Op::kMinus : UnaryExpr::Op::kPlus;
        INGOT_ASSIGN(ExprPtr operand, parse_unary(false));
        expr = make(at, UnaryExpr{op, std::move(operand)});
    } else {
        INGOT_ASSIGN(expr, parse_primary());
    }
    INGOT_ASSIGN(expr, parse_postfix(std::move(expr)));
    if (!with_filter) return expr;
    return parse_filters_and_tests(std::move(expr));
}

Result<ExprPtr> Parser::parse_primary() {
    const Token& token = current();
    const Position at = token.at;
    if (token.is_operator("(")) {
        advance();
        INGOT_ASSIGN(ExprPtr inner, parse_tuple(true, {}, true));
        INGOT_TRY(expect_operator(")"));
        return inner;
    }
    if (token.is_operator("[")) return parse_list();
    if (token.is_operator("{")) return parse_dict();
    switch (token.kind) {
        case TokenKind::kName: {
            const std::string name = advance().text;
            if (name == "true" || name == "True") return make(at, Literal{true});
            if (name == "false" || name == "False") return make(at, Literal{false});
            if (name == "none" || name == "None") return make(at, Literal{});
            for (MacroDeclaration* macro : macros_) {
                macro->uses_caller |= name == "caller";
                macro->uses_varargs |= name == "varargs";
                macro->uses_kwargs |= name == "kwargs";
            }
            return make(at, NameExpr{name});
        }
        case TokenKind::kString: {
            std::string text;
            while (current().kind == TokenKind::kString) text += advance().text;
            return make(at, Literal{std::move(text)});
        }
        case TokenKind::kInteger:
            return make(at, Literal{advance().integer});
        case TokenKind::kFloat:
            return make(at, Literal{advance().real});
        default:
            return error(at, "unexpected {}", token.describe());
    }
}

Result<ExprPtr> Parser::parse_list() {
    const Position at = advance().at;
    Exprs items;
    while (!current().is_operator("]")) {
        if (!items.empty()) INGOT_TRY(expect_operator(","));
        if (current().is_operator("]")) break;
        INGOT_ASSIGN(ExprPtr item, parse_expression());
        items.push_back(std::move(item));
    }
    INGOT_TRY(expect_operator("]"));
    return make(at, ListExpr{std::move(items), false});
}

Result<ExprPtr> Parser::parse_dict() {
    const Position at = advance().at;
    DictExpr dict;
    while (!current().is_operator("}")) {
        if (!dict.entries.empty()) INGOT_TRY(expect_operator(","));
        if (current().is_operator("}")) break;
        INGOT_ASSIGN(ExprPtr key, parse_expression());
        INGOT_TRY(expect_operator(":"));
        INGOT_ASSIGN(ExprPtr value, parse_expression());
        dict.entries.emplace_back(std::move(key), std::move(value));
    }
    INGOT_TRY(expect_operator("}"));
    return make(at, std::move(dict));
}

}  // namespace ingot::jinja
