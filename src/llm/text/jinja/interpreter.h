// Walks the tree of a template: statements write text, expressions give values. One Interpreter renders once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/text/jinja/ast.h"
#include "llm/text/jinja/builtin.h"
#include "llm/text/jinja/heap.h"
#include "llm/text/jinja/value.h"

namespace ingot::jinja {

// The names of one block. Lives in the heap, because macros keep the scope they were made in.
struct Scope {
    Scope* parent;
    std::pmr::vector<std::pair<std::string_view, Value>> names;
};

struct Macro {
    const MacroDeclaration* declaration;
    Scope* scope;
};

// The state of a running `for`, which its body sees as `loop`.
struct Loop {
    std::span<const Value> items;
    size_t index = 0;
    int64_t depth = 0;
    const ForStatement* recursive = nullptr;  // what loop(...) renders again
    Scope* scope = nullptr;                   // around the statement
    Values changed;                           // what loop.changed() saw last
    bool changed_called = false;
};

// Nested evaluations (statements and expressions within macros within ...) per allowed level of nesting.
// Their product is what the native stack is trusted with.
constexpr uint32_t kEvaluationsPerLevel = 8;

class Interpreter {
  public:
    Interpreter(Heap& heap, const std::tm& now) : heap_(heap), now_(now) {}

    // `variables` is a dict of the top-level names.
    Result<std::string> render(const Body& body, const Value& variables);

    Result<Value> call(const Value& callee, const Arguments& arguments);
    Result<std::string> call_macro(const Macro& macro, const Arguments& arguments);
    Result<std::string> call_loop(const Loop& loop, const Value& iterable);
    // By name, as `map` and `select` do it.
    Result<Value> apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
    Result<Value> apply_test(std::string_view name, const Value& input, const Arguments& arguments);
    const std::tm& now() const { return now_; }

  private:
    enum class Flow { kNext, kBreak, kContinue };

    // Statements (statements.cpp)
    Result<Flow> run_body(const Body& body, Scope& scope);
    Result<Flow> run(const Statement& statement, Scope& scope);
    Result<Flow> run_node(const DataStatement& node, Scope& scope);
    Result<Flow> run_node(const OutputStatement& node, Scope& scope);
    Result<Flow> run_node(const SetStatement& node, Scope& scope);
    Result<Flow> run_node(const SetBlockStatement& node, Scope& scope);
    Result<Flow> run_node(const IfStatement& node, Scope& scope);
    Result<Flow> run_node(const ForStatement& node, Scope& scope);
    Result<Flow> run_node(const WithStatement& node, Scope& scope);
    Result<Flow> run_node(const FilterBlockStatement& node, Scope& scope);
    Result<Flow> run_node(const MacroStatement& node, Scope& scope);
    Result<Flow> run_node(const CallBlockStatement& node, Scope& scope);
    Result<Flow> run_node(const LoopControlStatement& node, Scope& scope);
    Result<Flow> run_loop(const ForStatement& node, Scope& scope, std::span<const Value> items,
                          int64_t depth);
    Result<std::span<const Value>> filtered_items(const ForStatement& node, Scope& scope,
                                                  std::span<const Value> items);
    Result<void> assign(const Target& target, const Value& value, Scope& scope);
    // Renders a body to a text of its own.
    Result<std::string> capture(const Body& body, Scope& scope);
    Result<void> write(std::string_view text);

    // Expressions (expressions.cpp, calls.cpp)
    Result<Value> eval(const Expr& expr, Scope& scope);
    Result<Value> eval_node(const Literal& node, Scope& scope);
    Result<Value> eval_node(const NameExpr& node, Scope& scope);
    Result<Value> eval_node(const ListExpr& node, Scope& scope);
    Result<Value> eval_node(const DictExpr& node, Scope& scope);
    Result<Value> eval_node(const UnaryExpr& node, Scope& scope);
    Result<Value> eval_node(const ArithmeticExpr& node, Scope& scope);
    Result<Value> eval_node(const ConcatExpr& node, Scope& scope);
    Result<Value> eval_node(const CompareExpr& node, Scope& scope);
    Result<Value> eval_node(const LogicExpr& node, Scope& scope);
    Result<Value> eval_node(const ConditionalExpr& node, Scope& scope);
    Result<Value> eval_node(const AttributeExpr& node, Scope& scope);
    Result<Value> eval_node(const IndexExpr& node, Scope& scope);
    Result<Value> eval_node(const SliceExpr& node, Scope& scope);
    Result<Value> eval_node(const CallExpr& node, Scope& scope);
    Result<Value> eval_node(const FilterExpr& node, Scope& scope);
    Result<Value> eval_node(const TestExpr& node, Scope& scope);
    Result<Value> eval_filter(const Expr& filter, const Value& block_text, Scope& scope);
    Result<bool> compare(CompareOp op, const Value& left, const Value& right);
    Result<Value> call_by_node(const CallExpr& node, Scope& scope, const Value* caller);

    struct EvaluatedArguments {
        std::vector<Value> positional;
        std::vector<NamedValue> named;
        Arguments view() const { return {positional, named}; }
    };
    Result<EvaluatedArguments> eval_arguments(const ArgumentList& list, Scope& scope);
    Result<void> bind_macro(const Macro& macro, const Arguments& arguments, Scope& scope);

    Scope& inner(Scope& scope);
    Result<void> set(Scope& scope, std::string_view name, const Value& value);

    Heap& heap_;
    std::tm now_;
    std::string* out_ = nullptr;
    uint32_t depth_ = 0;        // of nested evaluation
    uint32_t macro_depth_ = 0;  // of macro calls
};

}  // namespace ingot::jinja
