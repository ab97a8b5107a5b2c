#include <algorithm>

#include "llm/text/jinja/check_names.h"
#include "llm/text/jinja/parser.h"
#include "llm/text/jinja/parser_impl.h"

namespace ingot::jinja {
namespace {

// Tags of Jinja that need a loader, other templates or an escaping mode: no chat template has them.
constexpr std::string_view kRefusedTags[] = {"block", "extends", "include", "import", "from", "autoescape"};

}  // namespace

bool Parser::skip_operator(std::string_view symbol) {
    if (!current().is_operator(symbol)) return false;
    advance();
    return true;
}

bool Parser::skip_name(std::string_view name) {
    if (!current().is_name(name)) return false;
    advance();
    return true;
}

Result<void> Parser::expect_operator(std::string_view symbol) {
    if (skip_operator(symbol)) return {};
    return error(current().at, "expected '{}', got {}", symbol, current().describe());
}

Result<void> Parser::expect_name(std::string_view name) {
    if (skip_name(name)) return {};
    return error(current().at, "expected '{}', got {}", name, current().describe());
}

Result<std::string> Parser::expect_any_name() {
    if (current().kind == TokenKind::kName) return advance().text;
    return error(current().at, "expected a name, got {}", current().describe());
}

Result<void> Parser::expect_end(TokenKind kind) {
    if (current().kind == kind) return advance(), Result<void>{};
    return error(current().at, "expected {}, got {}", Token{kind, {}, {}}.describe(), current().describe());
}

Result<void> Parser::located(Result<void> result) const {
    if (!result && result.error().where.empty()) result.error().where = describe(current().at);
    return result;
}

Result<Body> Parser::parse_template() {
    return parse_body({});
}

Result<Body> Parser::parse_block(EndTags end_tags) {
    skip_operator(":");
    INGOT_TRY(expect_end(TokenKind::kBlockEnd));
    return parse_body(end_tags);
}

Result<Body> Parser::parse_body(EndTags end_tags) {
    const Nesting nesting(depth_, max_depth_, "a block is");
    INGOT_TRY(located(nesting.ok));
    Body body;
    while (current().kind != TokenKind::kEnd) {
        const Position at = current().at;
        switch (current().kind) {
            case TokenKind::kData:
                body.push_back({at, DataStatement{advance().text}});
                break;
            case TokenKind::kVariableBegin: {
                advance();
                const Position value_at = current().at;
                INGOT_ASSIGN(ExprPtr value, parse_tuple(true));
                INGOT_TRY(expect_end(TokenKind::kVariableEnd));
                body.push_back({value_at, OutputStatement{std::move(value)}});
                break;
            }
            default: {
                advance();  // the begin of a block
                const auto ends = [&](std::string_view tag) { return current().is_name(tag); };
                if (std::any_of(end_tags.begin(), end_tags.end(), ends)) return body;
                INGOT_TRY(parse_tag(body));
                INGOT_TRY(expect_end(TokenKind::kBlockEnd));
            }
        }
    }
    if (end_tags.size() == 0) return body;
    return error(current().at, "Unexpected end of template. Jinja was looking for the following tags: {}.",
                 fmt::format("'{}'", fmt::join(end_tags, "' or '")));
}

Result<void> Parser::parse_tag(Body& body) {
    struct Tag {
        std::string_view name;
        Result<Statement> (Parser::*parse)(Position at);
    };
    static constexpr Tag kTags[] = {
        {"set", &Parser::parse_set},
        {"if", &Parser::parse_if},
        {"for", &Parser::parse_for},
        {"with", &Parser::parse_with},
        {"macro", &Parser::parse_macro},
        {"call", &Parser::parse_call_block},
        {"filter", &Parser::parse_filter_block},
        {"generation", &Parser::parse_generation},
        {"break", &Parser::parse_loop_control},
        {"continue", &Parser::parse_loop_control},
    };
    const Position at = current().at;
    if (current().kind != TokenKind::kName) return error(at, "tag name expected");
    if (skip_name("print")) return parse_print(at, body);
    for (const Tag& tag : kTags) {
        if (!current().is_name(tag.name)) continue;
        INGOT_ASSIGN(Statement statement, (this->*tag.parse)(at));
        body.push_back(std::move(statement));
        return {};
    }
    const std::string& name = current().text;
    if (std::find(std::begin(kRefusedTags), std::end(kRefusedTags), name) != std::end(kRefusedTags)) {
        return Failure(Error{ErrorKind::kUnsupported,
                             fmt::format("the tag '{}' isn't supported in a chat template", name),
                             describe(at)});
    }
    return error(at, "Encountered unknown tag '{}'.", name);
}

Result<void> Parser::parse_print(Position at, Body& body) {
    bool first = true;
    while (current().kind != TokenKind::kBlockEnd) {
        if (!first) INGOT_TRY(expect_operator(","));
        first = false;
        INGOT_ASSIGN(ExprPtr value, parse_expression());
        body.push_back({at, OutputStatement{std::move(value)}});
    }
    return {};
}

Result<Target> Parser::parse_target_item(bool with_namespace) {
    const Nesting nesting(depth_, max_depth_, "an assignment target is");
    INGOT_TRY(located(nesting.ok));
    const Position at = current().at;
    if (skip_operator("(")) {
        INGOT_ASSIGN(Target inner, parse_target(with_namespace));
        INGOT_TRY(expect_operator(")"));
        return inner;
    }
    Target target;
    target.at = at;
    if (current().kind != TokenKind::kName) return error(at, "can't assign to {}", current().describe());
    INGOT_ASSIGN(target.name, expect_any_name());
    for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
        if (target.name == constant) return error(at, "can't assign to 'const'");
    }
    if (with_namespace && skip_operator(".")) {
        INGOT_ASSIGN(target.attribute, expect_any_name());
    }
    return target;
}

Result<Target> Parser::parse_target(bool with_namespace, bool with_tuple) {
    INGOT_ASSIGN(Target first, parse_target_item(with_namespace));
    if (!with_tuple || !current().is_operator(",")) return first;
    Target tuple;
    tuple.at = first.at;
    tuple.tuple = true;
    tuple.parts.push_back(std::move(first));
    while (skip_operator(",")) {
        if (current().kind != TokenKind::kName && !current().is_operator("(")) break;
        if (current().is_name("in")) break;
        INGOT_ASSIGN(Target next, parse_target_item(with_namespace));
        tuple.parts.push_back(std::move(next));
    }
    return tuple;
}

Result<Statement> Parser::parse_set(Position at) {
    advance();
    INGOT_ASSIGN(Target target, parse_target(true));
    if (skip_operator("=")) {
        INGOT_ASSIGN(ExprPtr value, parse_tuple(true));
        return Statement{at, SetStatement{std::move(target), std::move(value)}};
    }
    ExprPtr filter;
    while (skip_operator("|")) {
        INGOT_ASSIGN(filter, parse_filter(std::move(filter)));
    }
    INGOT_ASSIGN(Body body, parse_block({"endset"}));
    advance();
    return Statement{at, SetBlockStatement{std::move(target), std::move(filter), std::move(body)}};
}

Result<Statement> Parser::parse_if(Position at) {
    IfStatement statement;
    while (true) {
        advance();  // "if" or "elif"
        INGOT_ASSIGN(ExprPtr test, parse_tuple(false));
        INGOT_ASSIGN(Body body, parse_block({"elif", "else", "endif"}));
        statement.branches.emplace_back(std::move(test), std::move(body));
        if (current().is_name("elif")) continue;
        if (advance().is_name("else")) {
            INGOT_ASSIGN(statement.otherwise, parse_block({"endif"}));
            advance();
        }
        return Statement{at, std::move(statement)};
    }
}

Result<Statement> Parser::parse_for(Position at) {
    advance();
    ForStatement statement;
    INGOT_ASSIGN(statement.target, parse_target(false));
    INGOT_TRY(expect_name("in"));
    INGOT_ASSIGN(statement.iterable, parse_tuple(false, "recursive"));
    if (skip_name("if")) {
        INGOT_ASSIGN(statement.condition, parse_expression());
    }
    statement.recursive = skip_name("recursive");
    INGOT_ASSIGN(statement.body, parse_block({"endfor", "else"}));
    if (advance().is_name("else")) {
        INGOT_ASSIGN(statement.otherwise, parse_block({"endfor"}));
        advance();
    }
    return Statement{at, std::move(statement)};
}

Result<Statement> Parser::parse_with(Position at) {
    advance();
    WithStatement statement;
    while (current().kind != TokenKind::kBlockEnd) {
        if (!statement.assignments.empty()) INGOT_TRY(expect_operator(","));
        INGOT_ASSIGN(Target target, parse_target(false));
        INGOT_TRY(expect_operator("="));
        INGOT_ASSIGN(ExprPtr value, parse_expression());
        statement.assignments.emplace_back(std::move(target), std::move(value));
    }
    INGOT_ASSIGN(statement.body, parse_block({"endwith"}));
    advance();
    return Statement{at, std::move(statement)};
}

Result<void> Parser::parse_signature(MacroDeclaration& macro) {
    INGOT_TRY(expect_operator("("));
    while (!current().is_operator(")")) {
        if (!macro.parameters.empty()) INGOT_TRY(expect_operator(","));
        const Position at = current().at;
        INGOT_ASSIGN(std::string name, expect_any_name());
        macro.parameters.push_back(std::move(name));
        if (skip_operator("=")) {
            INGOT_ASSIGN(ExprPtr value, parse_expression());
            macro.defaults.push_back(std::move(value));
        } else if (!macro.defaults.empty()) {
            return error(at, "non-default argument follows default argument");
        }
    }
    return expect_operator(")");
}

Result<Body> Parser::parse_macro_body(MacroDeclaration& macro, std::string_view end_tag) {
    macros_.push_back(&macro);
    auto body = parse_block({end_tag});
    macros_.pop_back();
    if (body) advance();
    return body;
}

Result<Statement> Parser::parse_macro(Position at) {
    advance();
    auto macro = std::make_unique<MacroDeclaration>();
    INGOT_ASSIGN(macro->name, expect_any_name());
    INGOT_TRY(parse_signature(*macro));
    INGOT_ASSIGN(macro->body, parse_macro_body(*macro, "endmacro"));
    return Statement{at, MacroStatement{std::move(macro)}};
}

Result<Statement> Parser::parse_call_block(Position at) {
    advance();
    auto caller = std::make_unique<MacroDeclaration>();
    caller->name = "caller";
    if (current().is_operator("(")) INGOT_TRY(parse_signature(*caller));
    INGOT_ASSIGN(ExprPtr call, parse_expression());
    if (!std::holds_alternative<CallExpr>(call->node)) return error(at, "expected call");
    INGOT_ASSIGN(caller->body, parse_macro_body(*caller, "endcall"));
    return Statement{at, CallBlockStatement{std::move(call), std::move(caller)}};
}

Result<Statement> Parser::parse_generation(Position at) {
    advance();
    auto caller = std::make_unique<MacroDeclaration>();
    caller->name = "caller";
    INGOT_ASSIGN(caller->body, parse_macro_body(*caller, "endgeneration"));
    return Statement{at, CallBlockStatement{nullptr, std::move(caller)}};
}

Result<Statement> Parser::parse_filter_block(Position at) {
    advance();
    INGOT_ASSIGN(ExprPtr filter, parse_filter(nullptr));
    while (skip_operator("|")) {
        INGOT_ASSIGN(filter, parse_filter(std::move(filter)));
    }
    INGOT_ASSIGN(Body body, parse_block({"endfilter"}));
    advance();
    return Statement{at, FilterBlockStatement{std::move(filter), std::move(body)}};
}

Result<Statement> Parser::parse_loop_control(Position at) {
    return Statement{at, LoopControlStatement{advance().is_name("break")}};
}

Result<Body> parse(std::string_view source, uint32_t max_depth) {
    INGOT_ASSIGN(std::vector<Token> tokens, tokenize(source));
    INGOT_ASSIGN(Body body, Parser(std::move(tokens), max_depth).parse_template());
    INGOT_TRY(check_names(body));
    return body;
}

}  // namespace ingot::jinja
