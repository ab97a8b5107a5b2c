#include <cctype>

#include <gtest/gtest.h>

#include "metal/structured/program.h"

namespace ingot::metal::testing::structured {
namespace {

struct CallRow {
    Op op;
    const char* text;
    size_t arguments;
};
constexpr CallRow kCalls[] = {
#define X(enumerator, text, arguments) {Op::enumerator, text, arguments},
    INGOT_STRUCTURED_CALLS(X)
#undef X
};

struct BinaryRow {
    const char* text;
    int precedence;
};
constexpr BinaryRow kBinaries[] = {
#define X(text, precedence) {text, precedence},
    INGOT_STRUCTURED_BINARY(X)
#undef X
};

struct WordRow {
    Op op;
    char name;
};
constexpr WordRow kWords[] = {
    {Op::kInput, 'x'}, {Op::kThread, 't'}, {Op::kLane, 'l'}, {Op::kUniform, 'u'}, {Op::kRound, 'k'}};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) { next(); }

    Block all() {
        Block result;
        while (!token_.empty()) result.push_back(statement());
        return result;
    }

  private:
    void next() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
        const size_t begin = at_;
        const auto is_word = [&] {
            return at_ < text_.size() &&
                   (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_');
        };
        if (is_word()) {
            while (is_word()) ++at_;
        } else if (at_ < text_.size()) {
            const std::string_view two = text_.substr(at_, 2);
            at_ += two == "<<" || two == ">>" || two == "==" || two == "!=" ? 2 : 1;
        }
        token_ = text_.substr(begin, at_ - begin);
    }
    bool accept(std::string_view token) {
        if (token_ != token) return false;
        next();
        return true;
    }
    void expect(std::string_view token) {
        if (accept(token)) return;
        ADD_FAILURE() << "'" << token << "' expected instead of '" << token_
                      << "' before: " << text_.substr(at_);
        token_ = {};
        at_ = text_.size();
    }
    bool is_number() const { return !token_.empty() && std::isdigit(static_cast<unsigned char>(token_[0])); }
    bool is_variable() const {
        return token_.size() == 1 && token_[0] >= 'a' && token_[0] < char('a' + kVariables);
    }
    uint32_t number() {
        const auto value = uint32_t(std::stoul(std::string(token_)));
        next();
        return value;
    }

    Expression primary();
    Expression expression(int least = 0);
    Expression in_parentheses() {
        expect("(");
        Expression e = expression();
        expect(")");
        return e;
    }
    Block block() {
        Block result;
        expect("{");
        while (!token_.empty() && token_ != "}") result.push_back(statement());
        expect("}");
        return result;
    }
    Statement statement();
    Statement simple();
    Statement cases();

    std::string_view text_, token_;
    size_t at_ = 0;
};

Expression Parser::primary() {
    if (token_ == "(") return in_parentheses();
    Expression e;
    if (is_number()) {
        e.value = number();
        return e;
    }
    if (is_variable()) {
        e.op = Op::kVariable;
        e.value = uint32_t(token_[0] - 'a');
        next();
        return e;
    }
    if (accept("p")) {
        e.op = Op::kPrivateRead;
        expect("[");
        e.arguments.push_back(expression());
        expect("]");
        return e;
    }
    for (const WordRow& row : kWords) {
        if (token_.size() != 1 || token_[0] != row.name) continue;
        e.op = row.op;
        next();
        return e;
    }
    for (const CallRow& row : kCalls) {
        if (!accept(row.text)) continue;
        e.op = row.op;
        expect("(");
        for (size_t i = 0; i < row.arguments; ++i) {
            if (i != 0) expect(",");
            e.arguments.push_back(expression());
        }
        expect(")");
        return e;
    }
    expect("an expression");
    return e;
}

Expression Parser::expression(int least) {
    Expression left = primary();
    for (bool found = true; found;) {
        found = false;
        for (const BinaryRow& row : kBinaries) {
            if (row.precedence < least || !accept(row.text)) continue;
            Expression whole{Op::kBinary, 0, row.text, {}};
            whole.arguments = {std::move(left), expression(row.precedence + 1)};
            left = std::move(whole);
            found = true;
        }
    }
    return left;
}

Statement Parser::cases() {
    Statement s{
        .kind = Kind::kSwitch, .expressions = {in_parentheses()}, .body = {}, .otherwise = {}, .cases = {}};
    expect("{");
    while (token_ == "case" || token_ == "default") {
        Case c;
        c.is_default = token_ == "default";
        next();
        if (!c.is_default) c.value = number();
        expect(":");
        while (!token_.empty() && token_ != "case" && token_ != "default" && token_ != "}")
            c.body.push_back(statement());
        s.cases.push_back(std::move(c));
    }
    expect("}");
    return s;
}

Statement Parser::simple() {
    Statement s;
    if (accept("break")) {
        s.kind = Kind::kBreak;
    } else if (accept("continue")) {
        s.kind = Kind::kContinue;
    } else if (accept("return")) {
        s.kind = Kind::kReturn;
    } else if (token_ == "log" || token_ == "count") {
        s.kind = token_ == "log" ? Kind::kLog : Kind::kCount;
        next();
        s.expressions.push_back(in_parentheses());
    } else if (accept("p")) {
        s.kind = Kind::kPrivateWrite;
        expect("[");
        s.expressions.push_back(expression());
        expect("]");
        expect("=");
        s.expressions.push_back(expression());
    } else {
        s.variable = is_variable() ? uint32_t(token_[0] - 'a') : 0;
        next();
        std::string operation;
        if (token_ != "=") {
            operation = token_;
            next();
        }
        expect("=");
        Expression e = expression();
        if (!operation.empty()) {
            Expression old{Op::kVariable, s.variable, {}, {}};
            Expression whole{Op::kBinary, 0, operation, {}};
            whole.arguments = {std::move(old), std::move(e)};
            e = std::move(whole);
        }
        s.expressions.push_back(std::move(e));
    }
    expect(";");
    return s;
}

Statement Parser::statement() {
    Statement s;
    if (accept("if")) {
        s.kind = Kind::kIf;
        s.expressions.push_back(in_parentheses());
        s.body = block();
        if (accept("else")) s.otherwise = token_ == "if" ? Block{statement()} : block();
        return s;
    }
    if (accept("while")) {
        s.kind = Kind::kWhile;
        s.expressions.push_back(in_parentheses());
        s.body = block();
        return s;
    }
    if (accept("do")) {
        s.kind = Kind::kDo;
        s.body = block();
        expect("while");
        s.expressions.push_back(in_parentheses());
        expect(";");
        return s;
    }
    if (accept("switch")) return cases();
    return simple();
}

std::string print(const Expression& e) {
    const auto inner = [&] {
        std::string text;
        for (const Expression& argument : e.arguments) text += (text.empty() ? "" : ", ") + print(argument);
        return text;
    };
    if (e.op == Op::kNumber) return std::to_string(e.value);
    if (e.op == Op::kVariable) return {char('a' + e.value)};
    if (e.op == Op::kPrivateRead) return "p[" + inner() + "]";
    if (e.op == Op::kBinary)
        return "(" + print(e.arguments[0]) + " " + e.binary + " " + print(e.arguments[1]) + ")";
    for (const WordRow& row : kWords) {
        if (row.op == e.op) return {row.name};
    }
    for (const CallRow& row : kCalls) {
        if (row.op == e.op) return row.text + ("(" + inner() + ")");
    }
    return "?";
}

}  // namespace

Block parse(std::string_view text) {
    return Parser(text).all();
}

std::string print(const Block& block, unsigned depth) {
    std::string text;
    const std::string indent(size_t{2} * depth, ' ');
    const auto braces = [&](const Block& inner) { return "{\n" + print(inner, depth + 1) + indent + "}"; };
    for (const Statement& s : block) {
        std::vector<std::string> e;
        for (const Expression& expression : s.expressions) e.push_back(print(expression));
        text += indent;
        switch (s.kind) {
            case Kind::kAssign:
                text += std::string{char('a' + s.variable)} + " = " + e[0] + ";";
                break;
            case Kind::kPrivateWrite:
                text += "p[" + e[0] + "] = " + e[1] + ";";
                break;
            case Kind::kLog:
                text += "log(" + e[0] + ");";
                break;
            case Kind::kCount:
                text += "count(" + e[0] + ");";
                break;
            case Kind::kIf:
                text += "if (" + e[0] + ") " + braces(s.body);
                if (!s.otherwise.empty()) text += " else " + braces(s.otherwise);
                break;
            case Kind::kWhile:
                text += "while (" + e[0] + ") " + braces(s.body);
                break;
            case Kind::kDo:
                text += "do " + braces(s.body) + " while (" + e[0] + ");";
                break;
            case Kind::kSwitch:
                text += "switch (" + e[0] + ") {\n";
                for (const Case& c : s.cases) {
                    text += indent +
                            (c.is_default ? "default:\n" : "case " + std::to_string(c.value) + ":\n") +
                            print(c.body, depth + 1);
                }
                text += indent + "}";
                break;
            case Kind::kBreak:
                text += "break;";
                break;
            case Kind::kContinue:
                text += "continue;";
                break;
            case Kind::kReturn:
                text += "return;";
                break;
        }
        text += "\n";
    }
    return text;
}

}  // namespace ingot::metal::testing::structured
