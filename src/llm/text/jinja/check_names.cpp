#include "llm/text/jinja/check_names.h"

#include "llm/text/jinja/ast_walk.h"
#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/lexer.h"

namespace ingot::jinja {
namespace {

struct NameScope {
    bool conditional = false;  // inside of an `if`, so that names may be unknown
    bool in_loop = false;
};

class Checker {
  public:
    Result<void> body(const Body& statements, NameScope scope) {
        for (const Statement& statement : statements) {
            INGOT_TRY(std::visit([&](const auto& node) { return check(node, statement.at, scope); },
                                 statement.node));
        }
        return {};
    }

  private:
    static NameScope inner(NameScope scope) { return {false, scope.in_loop}; }

    Result<void> check(const DataStatement&, Position, NameScope) { return {}; }
    Result<void> check(const OutputStatement& node, Position, NameScope scope) {
        return expr(node.value, scope);
    }
    Result<void> check(const SetStatement& node, Position, NameScope scope) {
        return expr(node.value, scope);
    }
    Result<void> check(const SetBlockStatement& node, Position, NameScope scope) {
        INGOT_TRY(expr(node.filter, inner(scope)));
        return body(node.body, inner(scope));
    }
    Result<void> check(const IfStatement& node, Position, NameScope scope) {
        scope.conditional = true;
        for (const auto& [test, statements] : node.branches) {
            INGOT_TRY(expr(test, scope));
            INGOT_TRY(body(statements, scope));
        }
        return body(node.otherwise, scope);
    }
    Result<void> check(const ForStatement& node, Position, NameScope scope) {
        INGOT_TRY(expr(node.iterable, scope));
        INGOT_TRY(expr(node.condition, inner(scope)));
        INGOT_TRY(body(node.body, {false, true}));
        return body(node.otherwise, inner(scope));
    }
    Result<void> check(const WithStatement& node, Position, NameScope scope) {
        for (const auto& [target, value] : node.assignments) INGOT_TRY(expr(value, inner(scope)));
        return body(node.body, inner(scope));
    }
    Result<void> check(const FilterBlockStatement& node, Position, NameScope scope) {
        INGOT_TRY(expr(node.filter, inner(scope)));
        return body(node.body, inner(scope));
    }
    Result<void> check(const MacroStatement& node, Position, NameScope) { return macro(*node.macro); }
    Result<void> check(const CallBlockStatement& node, Position, NameScope scope) {
        INGOT_TRY(expr(node.call, scope));
        return macro(*node.caller);
    }
    Result<void> check(const LoopControlStatement& node, Position at, NameScope scope) {
        if (scope.in_loop) return {};
        return Failure(Error{ErrorKind::kCorrupt,
                             fmt::format("'{}' outside of a loop", node.is_break ? "break" : "continue"),
                             describe(at)});
    }

    Result<void> macro(const MacroDeclaration& declaration) {
        for (const ExprPtr& value : declaration.defaults) INGOT_TRY(expr(value, {}));
        return body(declaration.body, {});
    }

    Result<void> expr(const ExprPtr& expression, NameScope scope) {
        return expression ? expr(*expression, scope) : Result<void>{};
    }
    Result<void> expr(const Expr& expression, NameScope scope) {
        if (std::holds_alternative<ConditionalExpr>(expression.node)) scope.conditional = true;
        const auto* const filter = std::get_if<FilterExpr>(&expression.node);
        const auto* const test = std::get_if<TestExpr>(&expression.node);
        if (!scope.conditional && filter && !find_filter(filter->name)) {
            return missing("filter", filter->name, expression.at);
        }
        if (!scope.conditional && test && !find_test(test->name))
            return missing("test", test->name, expression.at);
        Result<void> result;
        for_each_child(expression, [&](const Expr& child) {
            if (result) result = expr(child, scope);
        });
        return result;
    }
    static Failure missing(std::string_view kind, std::string_view name, Position at) {
        return Failure(
            Error{ErrorKind::kCorrupt, fmt::format("No {} named '{}'.", kind, name), describe(at)});
    }
};

}  // namespace

Result<void> check_names(const Body& body) {
    return Checker().body(body, {});
}

}  // namespace ingot::jinja
