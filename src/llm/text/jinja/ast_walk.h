// The operands of an expression, for what treats all kinds of expression alike.
#pragma once

#include "llm/text/jinja/ast.h"

namespace ingot::jinja {

template <typename Visit>
struct ChildWalker {
    Visit& visit;

    void one(const ExprPtr& child) const {
        if (child) visit(*child);
    }
    void all(const Exprs& children) const {
        for (const ExprPtr& child : children) one(child);
    }
    template <typename Pairs>
    void seconds(const Pairs& pairs) const {
        for (const auto& pair : pairs) one(pair.second);
    }
    void arguments(const ArgumentList& list) const {
        all(list.positional);
        for (const NamedExpr& argument : list.named) one(argument.value);
        one(list.star);
        one(list.double_star);
    }

    void operator()(const Literal&) const {}
    void operator()(const NameExpr&) const {}
    void operator()(const ListExpr& node) const { all(node.items); }
    void operator()(const DictExpr& node) const {
        for (const auto& [key, value] : node.entries) one(key), one(value);
    }
    void operator()(const UnaryExpr& node) const { one(node.operand); }
    void operator()(const ArithmeticExpr& node) const { one(node.first), seconds(node.rest); }
    void operator()(const ConcatExpr& node) const { all(node.parts); }
    void operator()(const CompareExpr& node) const { one(node.first), seconds(node.rest); }
    void operator()(const LogicExpr& node) const { all(node.operands); }
    void operator()(const ConditionalExpr& node) const {
        one(node.test), one(node.then), one(node.otherwise);
    }
    void operator()(const AttributeExpr& node) const { one(node.object); }
    void operator()(const IndexExpr& node) const { one(node.object), one(node.index); }
    void operator()(const SliceExpr& node) const { one(node.start), one(node.stop), one(node.step); }
    void operator()(const CallExpr& node) const { one(node.callee), arguments(node.arguments); }
    void operator()(const FilterExpr& node) const { one(node.input), arguments(node.arguments); }
    void operator()(const TestExpr& node) const { one(node.input), arguments(node.arguments); }
};

// Calls `visit` with each operand, in no particular order.
template <typename Visit>
void for_each_child(const Expr& expression, Visit visit) {
    std::visit(ChildWalker<Visit>{visit}, expression.node);
}

}  // namespace ingot::jinja
