// What may follow an operand: .name, [index], (arguments), | filter, is test.
#include "llm/text/jinja/parser_impl.h"

namespace ingot::jinja {

Result<ExprPtr> Parser::parse_postfix(ExprPtr expr) {
    while (true) {
        INGOT_ASSIGN(expr, bounded(std::move(expr)));
        if (current().is_operator(".") || current().is_operator("[")) {
            INGOT_ASSIGN(expr, parse_subscript(std::move(expr)));
        } else if (current().is_operator("(")) {
            INGOT_ASSIGN(expr, parse_call(std::move(expr)));
        } else {
            return expr;
        }
    }
}

Result<ExprPtr> Parser::parse_filters_and_tests(ExprPtr expr) {
    while (true) {
        INGOT_ASSIGN(expr, bounded(std::move(expr)));
        if (skip_operator("|")) {
            INGOT_ASSIGN(expr, parse_filter(std::move(expr)));
        } else if (current().is_name("is")) {
            INGOT_ASSIGN(expr, parse_test(std::move(expr)));
        } else if (current().is_operator("(")) {
            INGOT_ASSIGN(expr, parse_call(std::move(expr)));
        } else {
            return expr;
        }
    }
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr object) {
    const Token opening = advance();
    if (opening.text == ".") {
        const Token name = advance();
        if (name.kind == TokenKind::kName)
            return make(opening.at, AttributeExpr{std::move(object), name.text});
        if (name.kind != TokenKind::kInteger) return error(name.at, "expected name or number");
        return make(opening.at, IndexExpr{std::move(object), make(name.at, Literal{name.integer})});
    }
    Exprs items;
    while (!current().is_operator("]")) {
        if (!items.empty()) INGOT_TRY(expect_operator(","));
        INGOT_ASSIGN(ExprPtr item, parse_subscript_item());
        items.push_back(std::move(item));
    }
    INGOT_TRY(expect_operator("]"));
    if (items.size() == 1) return make(opening.at, IndexExpr{std::move(object), std::move(items[0])});
    for (const ExprPtr& item : items) {
        if (std::holds_alternative<SliceExpr>(item->node))
            return error(item->at, "a slice can't be part of a tuple");
    }
    ExprPtr key = make(opening.at, ListExpr{std::move(items), true});
    return make(opening.at, IndexExpr{std::move(object), std::move(key)});
}

Result<ExprPtr> Parser::parse_subscript_item() {
    const Position at = current().at;
    const auto part = [&](ExprPtr& out) -> Result<void> {
        if (current().is_operator(":") || current().is_operator("]") || current().is_operator(",")) return {};
        INGOT_ASSIGN(out, parse_expression());
        return {};
    };
    SliceExpr slice;
    if (!current().is_operator(":")) {
        INGOT_ASSIGN(slice.start, parse_expression());
        if (!current().is_operator(":")) return std::move(slice.start);
    }
    advance();
    INGOT_TRY(part(slice.stop));
    if (skip_operator(":")) INGOT_TRY(part(slice.step));
    return make(at, std::move(slice));
}

Result<ExprPtr> Parser::parse_call(ExprPtr callee) {
    const Position at = current().at;
    INGOT_ASSIGN(ArgumentList arguments, parse_arguments());
    return make(at, CallExpr{std::move(callee), std::move(arguments)});
}

Result<ArgumentList> Parser::parse_arguments() {
    INGOT_TRY(expect_operator("("));
    ArgumentList list;
    bool first = true;
    while (!current().is_operator(")")) {
        if (!first) {
            INGOT_TRY(expect_operator(","));
            if (current().is_operator(")")) break;
        }
        first = false;
        INGOT_TRY(parse_argument(list));
    }
    INGOT_TRY(expect_operator(")"));
    return list;
}

Result<void> Parser::parse_argument(ArgumentList& list) {
    const Position at = current().at;
    bool in_order = true;
    if (skip_operator("*")) {
        in_order = !list.star && !list.double_star;
        INGOT_ASSIGN(list.star, parse_expression());
    } else if (skip_operator("**")) {
        in_order = !list.double_star;
        INGOT_ASSIGN(list.double_star, parse_expression());
    } else if (current().kind == TokenKind::kName && look_ahead().is_operator("=")) {
        in_order = !list.double_star;
        std::string name = advance().text;
        advance();
        INGOT_ASSIGN(ExprPtr value, parse_expression());
        list.named.push_back({std::move(name), std::move(value)});
    } else {
        in_order = !list.star && !list.double_star && list.named.empty();
        INGOT_ASSIGN(ExprPtr value, parse_expression());
        list.positional.push_back(std::move(value));
    }
    if (!in_order) return error(at, "invalid syntax for function call expression");
    return {};
}

Result<std::string> Parser::parse_dotted_name() {
    INGOT_ASSIGN(std::string name, expect_any_name());
    while (skip_operator(".")) {
        INGOT_ASSIGN(const std::string part, expect_any_name());
        name += '.' + part;
    }
    return name;
}

Result<ExprPtr> Parser::parse_filter(ExprPtr input) {
    const Position at = current().at;
    INGOT_ASSIGN(std::string name, parse_dotted_name());
    ArgumentList arguments;
    if (current().is_operator("(")) {
        INGOT_ASSIGN(arguments, parse_arguments());
    }
    return make(at, FilterExpr{std::move(input), std::move(name), std::move(arguments)});
}

Result<ExprPtr> Parser::parse_test(ExprPtr input) {
    const Position at = advance().at;  // "is"
    const bool negated = skip_name("not");
    INGOT_ASSIGN(std::string name, parse_dotted_name());
    ArgumentList arguments;
    const Token& next = current();
    const bool literal = next.kind == TokenKind::kString || next.kind == TokenKind::kInteger ||
                         next.kind == TokenKind::kFloat || next.is_operator("[") || next.is_operator("{");
    const bool name_argument =
        next.kind == TokenKind::kName && !next.is_name("else") && !next.is_name("or") && !next.is_name("and");
    if (next.is_operator("(")) {
        INGOT_ASSIGN(arguments, parse_arguments());
    } else if (literal || name_argument) {
        if (next.is_name("is")) return error(next.at, "You cannot chain multiple tests with is");
        const Nesting nesting(depth_, max_depth_, "an expression is");
        INGOT_TRY(located(nesting.ok));
        INGOT_ASSIGN(ExprPtr argument, parse_primary());
        INGOT_ASSIGN(argument, parse_postfix(std::move(argument)));
        arguments.positional.push_back(std::move(argument));
    }
    ExprPtr test = make(at, TestExpr{std::move(input), std::move(name), std::move(arguments)});
    if (negated) return make(at, UnaryExpr{UnaryExpr::Op::kNot, std::move(test)});
    return test;
}

}  // namespace ingot::jinja
