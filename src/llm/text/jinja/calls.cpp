// Everything with arguments: functions, methods, macros, filters and tests.
#include <algorithm>

#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {

Result<Interpreter::EvaluatedArguments> Interpreter::eval_arguments(const ArgumentList& list, Scope& scope) {
    EvaluatedArguments result;
    for (const ExprPtr& argument : list.positional) {
        INGOT_ASSIGN(const Value value, eval(*argument, scope));
        result.positional.push_back(value);
    }
    for (const NamedExpr& argument : list.named) {
        INGOT_ASSIGN(const Value value, eval(*argument.value, scope));
        result.named.push_back({argument.name, value});
    }
    if (list.star) {
        INGOT_ASSIGN(const Value star, eval(*list.star, scope));
        INGOT_ASSIGN(const std::span<const Value> items, items_of(heap_, star));
        result.positional.insert(result.positional.end(), items.begin(), items.end());
    }
    if (list.double_star) {
        INGOT_ASSIGN(const Value named, eval(*list.double_star, scope));
        if (!named.is(Kind::kDict)) {
            return fail(ErrorKind::kInvalidArgument, "argument after ** must be a mapping, not {}",
                        type_name(named));
        }
        for (const Entry& entry : named.dict().entries) {
            if (!entry.key.is_text()) return fail(ErrorKind::kInvalidArgument, "keywords must be strings");
            result.named.push_back({entry.key.bytes(), entry.value});
        }
    }
    return result;
}

Result<Value> Interpreter::eval_node(const CallExpr& node, Scope& scope) {
    return call_by_node(node, scope, nullptr);
}

Result<Value> Interpreter::call_by_node(const CallExpr& node, Scope& scope, const Value* caller) {
    INGOT_ASSIGN(const Value callee, eval(*node.callee, scope));
    INGOT_ASSIGN(EvaluatedArguments arguments, eval_arguments(node.arguments, scope));
    if (caller) arguments.named.push_back({"caller", *caller});
    return call(callee, arguments.view());
}

Result<Value> Interpreter::call(const Value& callee, const Arguments& arguments) {
    switch (callee.kind()) {
        case Kind::kUndefined:
            return undefined_error(callee);
        case Kind::kFunction:
            return invoke(*this, heap_, *callee.function().builtin, callee.function().self, arguments);
        case Kind::kMacro: {
            INGOT_ASSIGN(const std::string text, call_macro(callee.macro(), arguments));
            INGOT_TRY(heap_.claim(text.size()));
            return heap_.text(text);
        }
        case Kind::kLoop: {
            if (arguments.positional.size() != 1 || !arguments.named.empty()) {
                return fail(ErrorKind::kInvalidArgument, "loop() takes exactly one iterable");
            }
            INGOT_ASSIGN(const std::string text, call_loop(callee.loop(), arguments.positional[0]));
            INGOT_TRY(heap_.claim(text.size()));
            return heap_.text(text);
        }
        case Kind::kJoiner: {
            Joiner& joiner = callee.joiner();
            return std::exchange(joiner.used, true) ? joiner.separator : heap_.borrowed({});
        }
        default:
            return fail(ErrorKind::kInvalidArgument, "'{}' object is not callable", type_name(callee));
    }
}

Result<std::string> Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
    const Nesting nesting(macro_depth_, heap_.limits().max_depth, "macro calls are");
    INGOT_TRY(nesting.ok);
    Scope& scope = inner(*macro.scope);
    INGOT_TRY(bind_macro(macro, arguments, scope));
    return capture(macro.declaration->body, scope);
}

// Parameters by position, then by name, then by default (which may refer to earlier parameters); what is left
// over goes to varargs, kwargs and caller if the body mentions them.
Result<void> Interpreter::bind_macro(const Macro& macro, const Arguments& arguments, Scope& scope) {
    const MacroDeclaration& declaration = *macro.declaration;
    const size_t count = declaration.parameters.size();
    const size_t first_default = count - declaration.defaults.size();
    std::vector<bool> used(arguments.named.size(), false);
    const auto take_named = [&](std::string_view name) -> const Value* {
        for (size_t i = 0; i < arguments.named.size(); ++i) {
            if (arguments.named[i].name != name || used[i]) continue;
            used[i] = true;
            return &arguments.named[i].value;
        }
        return nullptr;
    };
    bool explicit_caller = false;
    for (size_t i = 0; i < count; ++i) {
        const std::string& name = declaration.parameters[i];
        explicit_caller |= name == "caller";
        if (i < arguments.positional.size()) {
            INGOT_TRY(set(scope, name, arguments.positional[i]));
        } else if (const Value* named = take_named(name)) {
            INGOT_TRY(set(scope, name, *named));
        } else if (i >= first_default) {
            INGOT_ASSIGN(const Value value, eval(*declaration.defaults[i - first_default], scope));
            INGOT_TRY(set(scope, name, value));
        } else {
            const std::string hint = fmt::format("parameter {} was not provided", repr_text(name));
            INGOT_TRY(set(scope, name, heap_.undefined_hint(hint)));
        }
    }
    if (declaration.uses_caller && !explicit_caller) {
        const Value* caller = take_named("caller");
        INGOT_TRY(set(scope, "caller", caller ? *caller : heap_.undefined_hint("No caller defined")));
    }
    std::pmr::vector<Entry> rest(heap_.arena());
    for (size_t i = 0; i < arguments.named.size(); ++i) {
        if (used[i]) continue;
        const std::string_view name = arguments.named[i].name;
        if (!declaration.uses_kwargs) {
            return fail(ErrorKind::kInvalidArgument, "macro {} takes no keyword argument {}",
                        repr_text(declaration.name), repr_text(name));
        }
        rest.push_back({heap_.text(name), arguments.named[i].value});
    }
    if (declaration.uses_kwargs) INGOT_TRY(set(scope, "kwargs", heap_.dict(std::move(rest))));
    const bool too_many = arguments.positional.size() > count;
    if (too_many && !declaration.uses_varargs) {
        return fail(ErrorKind::kInvalidArgument, "macro {} takes not more than {} argument(s)",
                    repr_text(declaration.name), count);
    }
    if (declaration.uses_varargs) {
        Values items = heap_.values();
        if (too_many)
            items.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(count),
                         arguments.positional.end());
        INGOT_TRY(set(scope, "varargs", heap_.tuple(std::move(items))));
    }
    return {};
}

Result<std::string> Interpreter::call_loop(const Loop& loop, const Value& iterable) {
    if (!loop.recursive) {
        return fail(ErrorKind::kInvalidArgument,
                    "The loop must have the 'recursive' marker to be called recursively.");
    }
    const Nesting nesting(macro_depth_, heap_.limits().max_depth, "recursive loops are");
    INGOT_TRY(nesting.ok);
    INGOT_ASSIGN(const std::span<const Value> items, items_of(heap_, iterable));
    std::string text;
    std::string* const outer = std::exchange(out_, &text);
    auto result = run_loop(*loop.recursive, *loop.scope, items, loop.depth + 1);
    out_ = outer;
    if (!result) return Failure(std::move(result).error());
    return text;
}

Result<Value> Interpreter::apply_filter(std::string_view name, const Value& input,
                                        const Arguments& arguments) {
    const Builtin* filter = find_filter(name);
    if (!filter) return fail(ErrorKind::kInvalidArgument, "No filter named '{}'.", name);
    return invoke(*this, heap_, *filter, input, arguments);
}

Result<Value> Interpreter::apply_test(std::string_view name, const Value& input, const Arguments& arguments) {
    const Builtin* test = find_test(name);
    if (!test) return fail(ErrorKind::kInvalidArgument, "No test named '{}'.", name);
    return invoke(*this, heap_, *test, input, arguments);
}

Result<Value> Interpreter::eval_node(const FilterExpr& node, Scope& scope) {
    INGOT_ASSIGN(const Value input, eval(*node.input, scope));
    INGOT_ASSIGN(const EvaluatedArguments arguments, eval_arguments(node.arguments, scope));
    return apply_filter(node.name, input, arguments.view());
}

Result<Value> Interpreter::eval_filter(const Expr& filter, const Value& block_text, Scope& scope) {
    const auto& node = std::get<FilterExpr>(filter.node);
    Value input = block_text;
    if (node.input) {
        INGOT_ASSIGN(input, eval_filter(*node.input, block_text, scope));
    }
    INGOT_ASSIGN(const EvaluatedArguments arguments, eval_arguments(node.arguments, scope));
    return apply_filter(node.name, input, arguments.view());
}

Result<Value> Interpreter::eval_node(const TestExpr& node, Scope& scope) {
    INGOT_ASSIGN(const Value input, eval(*node.input, scope));
    INGOT_ASSIGN(const EvaluatedArguments arguments, eval_arguments(node.arguments, scope));
    return apply_test(node.name, input, arguments.view());
}

}  // namespace ingot::jinja
