// The recursive-descent parser; expressions in parse_expressions.cpp, statements in parse_statements.cpp.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "llm/text/jinja/ast_walk.h"
#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/lexer.h"

namespace ingot::jinja {

class Parser {
  public:
    Parser(std::vector<Token> tokens, uint32_t max_depth)
        : tokens_(std::move(tokens)), max_depth_(max_depth) {}

    Result<Body> parse_template();

  private:
    using EndTags = std::initializer_list<std::string_view>;

    // Statements. A body ends at one of the end tags, whose name stays the current token.
    Result<Body> parse_body(EndTags end_tags);
    Result<Body> parse_block(EndTags end_tags);  // the same, after the end of the opening tag
    Result<void> parse_tag(Body& body);
    Result<Statement> parse_set(Position at);
    Result<Statement> parse_if(Position at);
    Result<Statement> parse_for(Position at);
    Result<Statement> parse_with(Position at);
    Result<Statement> parse_macro(Position at);
    Result<Statement> parse_call_block(Position at);
    Result<Statement> parse_generation(Position at);
    Result<Statement> parse_filter_block(Position at);
    Result<Statement> parse_loop_control(Position at);
    Result<void> parse_print(Position at, Body& body);
    Result<void> parse_signature(MacroDeclaration& macro);
    Result<Body> parse_macro_body(MacroDeclaration& macro, std::string_view end_tag);
    Result<Target> parse_target(bool with_namespace, bool with_tuple = true);
    Result<Target> parse_target_item(bool with_namespace);

    // Expressions, from the loosest binding to the tightest.
    Result<ExprPtr> parse_tuple(bool with_condition, std::string_view end_name = {},
                                bool parenthesized = false);
    Result<ExprPtr> parse_expression(bool with_condition = true);
    Result<ExprPtr> parse_conditional();
    Result<ExprPtr> parse_logic(bool is_and);
    Result<ExprPtr> parse_not();
    Result<ExprPtr> parse_compare();
    Result<ExprPtr> parse_arithmetic(int level);
    Result<ExprPtr> parse_concat();
    Result<ExprPtr> parse_unary(bool with_filter = true);
    Result<ExprPtr> parse_primary();
    Result<ExprPtr> parse_list();
    Result<ExprPtr> parse_dict();
    Result<ExprPtr> parse_postfix(ExprPtr expr);
    Result<ExprPtr> parse_filters_and_tests(ExprPtr expr);
    Result<ExprPtr> parse_subscript(ExprPtr object);
    Result<ExprPtr> parse_subscript_item();
    Result<ExprPtr> parse_call(ExprPtr callee);
    Result<ExprPtr> parse_filter(ExprPtr input);  // the current token is the filter's name
    Result<ExprPtr> parse_test(ExprPtr input);
    Result<ArgumentList> parse_arguments();
    Result<void> parse_argument(ArgumentList& list);
    Result<std::string> parse_dotted_name();

    const Token& current() const { return tokens_[pos_]; }
    const Token& look_ahead() const { return tokens_[std::min(pos_ + 1, tokens_.size() - 1)]; }
    const Token& advance() { return tokens_[pos_ + 1 < tokens_.size() ? pos_++ : pos_]; }
    bool skip_operator(std::string_view symbol);
    bool skip_name(std::string_view name);
    Result<void> expect_operator(std::string_view symbol);
    Result<void> expect_name(std::string_view name);
    Result<std::string> expect_any_name();
    Result<void> expect_end(TokenKind kind);
    bool at_tuple_end(std::string_view end_name) const;

    template <typename Node>
    ExprPtr make(Position at, Node node) {
        auto expr = std::make_unique<Expr>(Expr{at, 1, std::move(node)});
        for_each_child(*expr,
                       [&](const Expr& child) { expr->height = std::max(expr->height, child.height + 1); });
        return expr;
    }
    // Everything that walks the tree recurses, so its height is bounded.
    Result<ExprPtr> bounded(ExprPtr expr) const {
        if (expr->height <= max_depth_) return expr;
        return Failure(Error{ErrorKind::kLimit,
                             fmt::format("an expression is nested more than {} deep", max_depth_),
                             describe(expr->at)});
    }
    template <typename... Args>
    static Failure error(Position at, fmt::format_string<Args...> format, Args&&... args) {
        return Failure(
            Error{ErrorKind::kCorrupt, fmt::format(format, std::forward<Args>(args)...), describe(at)});
    }
    // One level of nesting; its Error says where the template goes too deep.
    Result<void> located(Result<void> result) const;

    std::vector<Token> tokens_;
    size_t pos_ = 0;
    uint32_t depth_ = 0;
    uint32_t max_depth_;
    std::vector<MacroDeclaration*> macros_;  // whose bodies are being parsed
};

}  // namespace ingot::jinja
