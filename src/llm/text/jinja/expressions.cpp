#include "llm/text/jinja/attributes.h"
#include "llm/text/jinja/compare.h"
#include "llm/text/jinja/interpreter.h"
#include "llm/text/jinja/lexer.h"
#include "llm/text/jinja/print.h"

namespace ingot::jinja {
Result<Value> Interpreter::eval(const Expr& expr, Scope& scope) {
    const Nesting nesting(depth_, heap_.limits().max_depth * kEvaluationsPerLevel, "the evaluation is");
    Result<Value> result = Value::none();
    if (!nesting.ok) {
        result = Failure(nesting.ok.error());
    } else if (auto step = heap_.step(); !step) {
        result = Failure(std::move(step).error());
    } else {
        result = std::visit([&](const auto& node) { return eval_node(node, scope); }, expr.node);
    }
    if (!result && result.error().where.empty()) result.error().where = describe(expr.at);
    return result;
}

Result<Value> Interpreter::eval_node(const Literal& node, Scope&) {
    if (const auto* text = std::get_if<std::string>(&node.value)) return heap_.borrowed(*text);
    if (const auto* integer = std::get_if<int64_t>(&node.value)) return Value::integer(*integer);
    if (const auto* real = std::get_if<double>(&node.value)) return Value::real(*real);
    if (const auto* boolean = std::get_if<bool>(&node.value)) return Value::boolean(*boolean);
    return Value::none();
}

Result<Value> Interpreter::eval_node(const NameExpr& node, Scope& scope) {
    for (const Scope* level = &scope; level; level = level->parent) {
        INGOT_TRY(heap_.step(level->names.size() / 16));
        for (const auto& [name, value] : level->names) {
            if (name == node.name) return value;
        }
    }
    if (const Builtin* global = find_global(node.name)) {
        return Value(Kind::kFunction, heap_.make(Function{global, Value()}));
    }
    return heap_.undefined_name(node.name);
}

Result<Value> Interpreter::eval_node(const ListExpr& node, Scope& scope) {
    Values items = heap_.values();
    items.reserve(node.items.size());
    for (const ExprPtr& item : node.items) {
        INGOT_ASSIGN(const Value value, eval(*item, scope));
        items.push_back(value);
    }
    return node.tuple ? heap_.tuple(std::move(items)) : heap_.list(std::move(items));
}

Result<Value> Interpreter::eval_node(const DictExpr& node, Scope& scope) {
    std::pmr::vector<Entry> entries(heap_.arena());
    entries.reserve(node.entries.size());
    for (const auto& [key_expr, value_expr] : node.entries) {
        INGOT_ASSIGN(const Value key, eval(*key_expr, scope));
        INGOT_ASSIGN(const Value value, eval(*value_expr, scope));
        INGOT_TRY(set_key(heap_, entries, key, value));
    }
    return heap_.dict(std::move(entries));
}

Result<Value> Interpreter::eval_node(const UnaryExpr& node, Scope& scope) {
    INGOT_ASSIGN(const Value value, eval(*node.operand, scope));
    if (node.op == UnaryExpr::Op::kNot) return Value::boolean(!truthy(value));
    return negate(value, node.op == UnaryExpr::Op::kMinus);
}

Result<Value> Interpreter::eval_node(const ArithmeticExpr& node, Scope& scope) {
    INGOT_ASSIGN(Value value, eval(*node.first, scope));
    for (const auto& [op, operand] : node.rest) {
        INGOT_ASSIGN(const Value right, eval(*operand, scope));
        INGOT_ASSIGN(value, binary(heap_, op, value, right));
    }
    return value;
}

Result<Value> Interpreter::eval_node(const ConcatExpr& node, Scope& scope) {
    std::string text;
    for (const ExprPtr& part : node.parts) {
        INGOT_ASSIGN(const Value value, eval(*part, scope));
        INGOT_ASSIGN(const std::string printed, to_text(heap_, value));
        INGOT_TRY(heap_.claim(text.size() + printed.size()));
        text += printed;
    }
    return heap_.text(text);
}

Result<bool> Interpreter::compare(CompareOp op, const Value& left, const Value& right) {
    switch (op) {
        case CompareOp::kEq:
            return equal(heap_, left, right);
        case CompareOp::kNe: {
            INGOT_ASSIGN(const bool same, equal(heap_, left, right));
            return !same;
        }
        case CompareOp::kLt:
            return less(heap_, left, right, "<");
        case CompareOp::kGt:
            return less(heap_, right, left, ">");
        case CompareOp::kLe:
        case CompareOp::kGe: {
            const bool le = op == CompareOp::kLe;
            INGOT_ASSIGN(const bool strict,
                         le ? less(heap_, left, right, "<=") : less(heap_, right, left, ">="));
            return strict ? Result<bool>(true) : equal(heap_, left, right);
        }
        case CompareOp::kIn:
            return contains(heap_, right, left);
        case CompareOp::kNotIn: {
            INGOT_ASSIGN(const bool found, contains(heap_, right, left));
            return !found;
        }
    }
    return false;
}

Result<Value> Interpreter::eval_node(const CompareExpr& node, Scope& scope) {
    INGOT_ASSIGN(Value left, eval(*node.first, scope));
    for (const auto& [op, operand] : node.rest) {
        INGOT_ASSIGN(const Value right, eval(*operand, scope));
        INGOT_ASSIGN(const bool holds, compare(op, left, right));
        if (!holds) return Value::boolean(false);
        left = right;
    }
    return Value::boolean(true);
}

Result<Value> Interpreter::eval_node(const LogicExpr& node, Scope& scope) {
    Value value = Value::none();
    for (const ExprPtr& operand : node.operands) {
        INGOT_ASSIGN(value, eval(*operand, scope));
        if (truthy(value) != node.is_and) return value;
    }
    return value;
}

Result<Value> Interpreter::eval_node(const ConditionalExpr& node, Scope& scope) {
    INGOT_ASSIGN(const Value test, eval(*node.test, scope));
    if (truthy(test)) return eval(*node.then, scope);
    if (node.otherwise) return eval(*node.otherwise, scope);
    return heap_.undefined_hint(
        "the inline if-expression evaluated to false and no else section was defined.");
}

Result<Value> Interpreter::eval_node(const AttributeExpr& node, Scope& scope) {
    INGOT_ASSIGN(const Value object, eval(*node.object, scope));
    return get_attribute(heap_, object, node.name);
}

Result<Value> Interpreter::eval_node(const IndexExpr& node, Scope& scope) {
    INGOT_ASSIGN(const Value object, eval(*node.object, scope));
    if (const auto* slice = std::get_if<SliceExpr>(&node.index->node)) {
        Value bounds[3];
        const ExprPtr* parts[3] = {&slice->start, &slice->stop, &slice->step};
        for (size_t i = 0; i < 3; ++i) {
            if (!*parts[i]) continue;
            INGOT_ASSIGN(bounds[i], eval(**parts[i], scope));
        }
        return get_slice(heap_, object, bounds[0], bounds[1], bounds[2]);
    }
    INGOT_ASSIGN(const Value key, eval(*node.index, scope));
    return get_item(heap_, object, key);
}

Result<Value> Interpreter::eval_node(const SliceExpr&, Scope&) {
    return fail(ErrorKind::kCorrupt, "a slice can only stand in square brackets");
}

}  // namespace ingot::jinja
