// Makes expressions of a kernel: types are promoted, literals take the other operand's type, and whole-number
// arithmetic of constants is done at once. The parser, the language (lang/) and passes all build through
// these, so that one program has one form.
#pragma once

#include <span>

#include "tile/ir/ir.h"

namespace ingot::tile {

ExprId constant(Kernel& k, double value, DType type = DType::kI32);
ExprId var(Kernel& k, VarId v);
ExprId dim(Kernel& k, DimId d);
ExprId scalar(Kernel& k, ScalarId s);
ExprId load(Kernel& k, BufferId b, std::span<const ExprId> indices);
ExprId cast(Kernel& k, ExprId e, DType type);
ExprId bits(Kernel& k, ExprId e, DType type);

// An operator of the table that is no leaf, cast or bits. Operands of different types meet in promote().
ExprId apply(Kernel& k, ExprOp op, std::span<const ExprId> args);

inline ExprId add(Kernel& k, ExprId a, ExprId b) {
    return apply(k, ExprOp::kAdd, std::array{a, b});
}
inline ExprId sub(Kernel& k, ExprId a, ExprId b) {
    return apply(k, ExprOp::kSub, std::array{a, b});
}
inline ExprId mul(Kernel& k, ExprId a, ExprId b) {
    return apply(k, ExprOp::kMul, std::array{a, b});
}

// The value of an operator over numbers of `type`: what the interpreter, and folding, compute.
double evaluate(ExprOp op, DType type, DType result, std::span<const double> args);

// A region that covers the whole buffer.
Region whole(Kernel& k, BufferId b);
// A region of one element.
Region element(BufferId b, std::span<const ExprId> indices);

}  // namespace ingot::tile
