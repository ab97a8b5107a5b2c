// A parsed template: statements and expressions, each with the place it came from. Built by parser.h, never
// changed after.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "llm/text/jinja/operators.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

struct Position {
    uint32_t line = 1, column = 1;  // in characters, from 1
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
using Exprs = std::vector<ExprPtr>;

struct NamedExpr {
    std::string name;
    ExprPtr value;
};

struct ArgumentList {
    Exprs positional;
    std::vector<NamedExpr> named;
    ExprPtr star, double_star;  // *list and **dict, or nothing
};

enum class CompareOp : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

struct Literal {
    std::variant<std::monostate, bool, int64_t, double, std::string> value;  // monostate: none
};
struct NameExpr {
    std::string name;
};
struct ListExpr {
    Exprs items;
    bool tuple;
};
struct DictExpr {
    std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
struct UnaryExpr {
    enum class Op : uint8_t { kNot, kMinus, kPlus } op;
    ExprPtr operand;
};
// a + b - c: operators of one level of precedence, from left to right.
struct ArithmeticExpr {
    ExprPtr first;
    std::vector<std::pair<BinaryOp, ExprPtr>> rest;
};
struct ConcatExpr {  // a ~ b ~ c
    Exprs parts;
};
struct CompareExpr {  // a < b <= c
    ExprPtr first;
    std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct LogicExpr {
    bool is_and;
    Exprs operands;
};
struct ConditionalExpr {
    ExprPtr test, then, otherwise;  // otherwise: may be nothing
};
struct AttributeExpr {
    ExprPtr object;
    std::string name;
};
struct IndexExpr {
    ExprPtr object, index;
};
struct SliceExpr {  // only as the index of an IndexExpr; parts may be nothing
    ExprPtr start, stop, step;
};
struct CallExpr {
    ExprPtr callee;
    ArgumentList arguments;
};
struct FilterExpr {
    ExprPtr input;  // nothing in a filter block or a block set: the text of the block
    std::string name;
    ArgumentList arguments;
};
struct TestExpr {
    ExprPtr input;
    std::string name;
    ArgumentList arguments;
};

struct Expr {
    Position at;
    uint32_t height;  // 1 for an operand, else one more than the highest operand
    std::variant<Literal, NameExpr, ListExpr, DictExpr, UnaryExpr, ArithmeticExpr, ConcatExpr, CompareExpr,
                 LogicExpr, ConditionalExpr, AttributeExpr, IndexExpr, SliceExpr, CallExpr, FilterExpr,
                 TestExpr>
        node;
};

struct Statement;
using Body = std::vector<Statement>;

// What `set`, `for` and `with` assign to.
struct Target {
    Position at;
    std::string name;           // of a variable, or of a namespace
    std::string attribute;      // not empty: namespace.attribute
    std::vector<Target> parts;  // not empty: a tuple
    bool tuple = false;
};

struct MacroDeclaration {
    std::string name;
    std::vector<std::string> parameters;
    Exprs defaults;  // of the last parameters
    Body body;
    bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct DataStatement {
    std::string text;
};
struct OutputStatement {
    ExprPtr value;
};
struct SetStatement {
    Target target;
    ExprPtr value;
};
struct SetBlockStatement {
    Target target;
    ExprPtr filter;  // may be nothing
    Body body;
};
struct IfStatement {
    std::vector<std::pair<ExprPtr, Body>> branches;
    Body otherwise;
};
struct ForStatement {
    Target target;
    ExprPtr iterable, condition;  // condition: may be nothing
    bool recursive = false;
    Body body, otherwise;
};
struct WithStatement {
    std::vector<std::pair<Target, ExprPtr>> assignments;
    Body body;
};
struct FilterBlockStatement {
    ExprPtr filter;
    Body body;
};
struct MacroStatement {
    std::unique_ptr<MacroDeclaration> macro;
};
struct CallBlockStatement {
    ExprPtr call;  // a CallExpr; nothing in a generation block, whose text stands for itself
    std::unique_ptr<MacroDeclaration> caller;
};
struct LoopControlStatement {
    bool is_break;
};

struct Statement {
    Position at;
    std::variant<DataStatement, OutputStatement, SetStatement, SetBlockStatement, IfStatement, ForStatement,
                 WithStatement, FilterBlockStatement, MacroStatement, CallBlockStatement,
                 LoopControlStatement>
        node;
};

}  // namespace ingot::jinja
