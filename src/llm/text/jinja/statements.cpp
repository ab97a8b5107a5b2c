#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/lexer.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {
namespace {

template <typename T>
Result<T> located(Result<T> result, Position at) {
    if (!result && result.error().where.empty()) result.error().where = describe(at);
    return result;
}

}  // namespace

Result<std::string> Interpreter::render(const Body& body, const Value& variables) {
    Scope scope{nullptr, std::pmr::vector<std::pair<std::string_view, Value>>(heap_.arena())};
    for (const Entry& entry : variables.dict().entries)
        scope.names.emplace_back(entry.key.bytes(), entry.value);
    std::string out;
    out_ = &out;
    INGOT_TRY(run_body(body, scope));
    return out;
}

Scope& Interpreter::inner(Scope& scope) {
    return *heap_.make(Scope{&scope, std::pmr::vector<std::pair<std::string_view, Value>>(heap_.arena())});
}

Result<void> Interpreter::set(Scope& scope, std::string_view name, const Value& value) {
    INGOT_TRY(heap_.step(scope.names.size() / 16));
    for (auto& [key, held] : scope.names) {
        if (key == name) return held = value, Result<void>{};
    }
    scope.names.emplace_back(name, value);
    return {};
}

Result<void> Interpreter::write(std::string_view text) {
    if (out_->size() + text.size() > heap_.limits().max_output_bytes) {
        return fail(ErrorKind::kLimit, "the template writes more than {} bytes",
                    heap_.limits().max_output_bytes);
    }
    INGOT_TRY(heap_.step(text.size() / 64));
    *out_ += text;
    return {};
}

Result<std::string> Interpreter::capture(const Body& body, Scope& scope) {
    std::string text;
    std::string* const outer = std::exchange(out_, &text);
    auto result = run_body(body, scope);
    out_ = outer;
    if (!result) return Failure(std::move(result).error());
    return text;
}

Result<Interpreter::Flow> Interpreter::run_body(const Body& body, Scope& scope) {
    for (const Statement& statement : body) {
        INGOT_ASSIGN(const Flow flow, run(statement, scope));
        if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run(const Statement& statement, Scope& scope) {
    const Nesting nesting(depth_, heap_.limits().max_depth * kEvaluationsPerLevel, "the evaluation is");
    INGOT_TRY(located(nesting.ok, statement.at));
    INGOT_TRY(located(heap_.step(), statement.at));
    return located(std::visit([&](const auto& node) { return run_node(node, scope); }, statement.node),
                   statement.at);
}

Result<Interpreter::Flow> Interpreter::run_node(const DataStatement& node, Scope&) {
    INGOT_TRY(write(node.text));
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const OutputStatement& node, Scope& scope) {
    INGOT_ASSIGN(const Value value, eval(*node.value, scope));
    if (value.is_text()) {
        INGOT_TRY(write(value.bytes()));
    } else {
        INGOT_ASSIGN(const std::string text, to_text(heap_, value));
        INGOT_TRY(write(text));
    }
    return Flow::kNext;
}

Result<void> Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
    if (target.tuple) {
        INGOT_ASSIGN(const std::span<const Value> items, items_of(heap_, value));
        if (items.size() != target.parts.size()) {
            return fail(ErrorKind::kInvalidArgument, "{} values to unpack, expected {}", items.size(),
                        target.parts.size());
        }
        for (size_t i = 0; i < items.size(); ++i) INGOT_TRY(assign(target.parts[i], items[i], scope));
        return {};
    }
    if (target.attribute.empty()) return set(scope, target.name, value);
    INGOT_ASSIGN(const Value owner, eval_node(NameExpr{target.name}, scope));
    if (!owner.is(Kind::kNamespace)) {
        return fail(ErrorKind::kInvalidArgument, "cannot assign attribute on non-namespace object");
    }
    if (target.attribute[0] == '_') {
        return fail(ErrorKind::kInvalidArgument,
                    "cannot store the underscore-prefixed attribute '{}' on a namespace", target.attribute);
    }
    auto& names = owner.name_space().names;
    INGOT_TRY(heap_.step(names.size() / 16));
    for (auto& [key, held] : names) {
        if (key == target.attribute) return held = value, Result<void>{};
    }
    names.emplace_back(target.attribute, value);
    return {};
}

Result<Interpreter::Flow> Interpreter::run_node(const SetStatement& node, Scope& scope) {
    INGOT_ASSIGN(const Value value, eval(*node.value, scope));
    INGOT_TRY(assign(node.target, value, scope));
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const SetBlockStatement& node, Scope& scope) {
    Scope& block = inner(scope);
    INGOT_ASSIGN(const std::string text, capture(node.body, block));
    INGOT_TRY(heap_.claim(text.size()));
    Value value = heap_.text(text);
    if (node.filter) {
        INGOT_ASSIGN(value, eval_filter(*node.filter, value, block));
    }
    INGOT_TRY(assign(node.target, value, scope));
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const IfStatement& node, Scope& scope) {
    for (const auto& [test, body] : node.branches) {
        INGOT_ASSIGN(const Value value, eval(*test, scope));
        if (truthy(value)) return run_body(body, scope);
    }
    return run_body(node.otherwise, scope);
}

Result<Interpreter::Flow> Interpreter::run_node(const ForStatement& node, Scope& scope) {
    INGOT_ASSIGN(const Value iterable, eval(*node.iterable, scope));
    INGOT_ASSIGN(const std::span<const Value> items, items_of(heap_, iterable));
    return run_loop(node, scope, items, 0);
}

Result<std::span<const Value>> Interpreter::filtered_items(const ForStatement& node, Scope& scope,
                                                           std::span<const Value> items) {
    Values* kept = heap_.make(heap_.values());
    for (const Value& item : items) {
        Scope& condition = inner(scope);
        INGOT_TRY(assign(node.target, item, condition));
        INGOT_ASSIGN(const Value keep, eval(*node.condition, condition));
        if (truthy(keep)) kept->push_back(item);
    }
    return std::span<const Value>(*kept);
}

Result<Interpreter::Flow> Interpreter::run_loop(const ForStatement& node, Scope& scope,
                                                std::span<const Value> items, int64_t depth) {
    if (node.condition) {
        INGOT_ASSIGN(items, filtered_items(node, scope, items));
    }
    if (items.empty()) {
        return run_body(node.otherwise, inner(scope));
    }
    Loop* loop =
        heap_.make(Loop{items, 0, depth, node.recursive ? &node : nullptr, &scope, heap_.values(), false});
    for (; loop->index < items.size(); ++loop->index) {
        INGOT_TRY(heap_.step());
        Scope& iteration = inner(scope);
        INGOT_TRY(set(iteration, "loop", Value(Kind::kLoop, loop)));
        INGOT_TRY(assign(node.target, items[loop->index], iteration));
        INGOT_ASSIGN(const Flow flow, run_body(node.body, iteration));
        if (flow == Flow::kBreak) break;
    }
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const WithStatement& node, Scope& scope) {
    Scope& block = inner(scope);
    for (const auto& [target, value] : node.assignments) {
        INGOT_ASSIGN(const Value evaluated, eval(*value, scope));
        INGOT_TRY(assign(target, evaluated, block));
    }
    return run_body(node.body, block);
}

Result<Interpreter::Flow> Interpreter::run_node(const FilterBlockStatement& node, Scope& scope) {
    Scope& block = inner(scope);
    INGOT_ASSIGN(const std::string text, capture(node.body, block));
    INGOT_TRY(heap_.claim(text.size()));
    INGOT_ASSIGN(const Value filtered, eval_filter(*node.filter, heap_.text(text), block));
    INGOT_ASSIGN(const std::string printed, to_text(heap_, filtered));
    INGOT_TRY(write(printed));
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const MacroStatement& node, Scope& scope) {
    INGOT_TRY(set(scope, node.macro->name, Value(Kind::kMacro, heap_.make(Macro{node.macro.get(), &scope}))));
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const CallBlockStatement& node, Scope& scope) {
    Macro* caller = heap_.make(Macro{node.caller.get(), &scope});
    if (!node.call) {
        INGOT_ASSIGN(const std::string text, call_macro(*caller, {}));
        INGOT_TRY(write(text));
        return Flow::kNext;
    }
    const Value callable(Kind::kMacro, caller);
    INGOT_ASSIGN(const Value result, call_by_node(std::get<CallExpr>(node.call->node), scope, &callable));
    INGOT_ASSIGN(const std::string text, to_text(heap_, result));
    INGOT_TRY(write(text));
    return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::run_node(const LoopControlStatement& node, Scope&) {
    return node.is_break ? Flow::kBreak : Flow::kContinue;
}

}  // namespace ingot::jinja
