#include "tile/ir/parse_expressions.h"

#include <limits>

namespace ingot::tile {

Result<ExprId> ExpressionParser::expr(int least) {
    if (++depth_ > kMaxParseDepth)
        return fail_at(peek().loc, fmt::format("more than {} levels of nesting", kMaxParseDepth));
    INGOT_ASSIGN(ExprId left, prefix());
    while (peek().kind == TokenKind::kSign) {
        const ExprOpFacts* f = infix(peek().text);
        if (f == nullptr || f->precedence < least) break;
        next();
        INGOT_ASSIGN(const ExprId right, expr(f->precedence + 1));
        left = apply(k_, f->op, std::array{left, right});
    }
    --depth_;
    return left;
}

const ExprOpFacts* ExpressionParser::infix(std::string_view sign) {
    for (const ExprOpFacts& f : kExprOps)
        if (f.form == Form::kInfix && f.spelling == sign) return &f;
    return nullptr;
}

Result<ExprId> ExpressionParser::prefix() {
    for (const ExprOpFacts& f : kExprOps) {
        if (f.form != Form::kPrefix || !sees(f.spelling)) continue;
        next();
        INGOT_ASSIGN(const ExprId operand, expr(f.precedence));
        return apply(k_, f.op, std::array{operand});
    }
    return primary();
}

Result<ExprId> ExpressionParser::primary() {
    const Token t = peek();
    if (t.kind == TokenKind::kNumber) {
        next();
        return constant(k_, t.value, t.is_whole ? DType::kI32 : DType::kF32);
    }
    if (accept("(")) {
        INGOT_ASSIGN(const ExprId inner, expr());
        INGOT_TRY(expect(")"));
        return inner;
    }
    if (t.kind != TokenKind::kName) return error("an expression");
    if (accept_name("true")) return constant(k_, 1, DType::kBool);
    if (accept_name("false")) return constant(k_, 0, DType::kBool);
    if (accept_name("inf")) return constant(k_, std::numeric_limits<double>::infinity(), DType::kF32);
    if (accept_name("nan")) return constant(k_, std::numeric_limits<double>::quiet_NaN(), DType::kF32);
    if (peek(1).kind == TokenKind::kSign && peek(1).text == "(") return call(t);
    return named(t);
}

Result<ExprId> ExpressionParser::named(const Token& t) {
    const auto it = names_.find(t.text);
    if (it == names_.end()) return unknown(t);
    next();
    switch (it->second.meaning) {
        case Meaning::kDim:
            return dim(k_, DimId(it->second.id));
        case Meaning::kScalar:
            return scalar(k_, ScalarId(it->second.id));
        case Meaning::kVar:
            return var(k_, VarId(it->second.id));
        case Meaning::kBuffer:
            break;
    }
    if (!sees("[")) return error(fmt::format("'[' with the indices of {}'s element", t.text));
    INGOT_ASSIGN(const std::vector<ExprId> indices, bracketed());
    const BufferId b(it->second.id);
    if (indices.size() != k_[b].shape.size()) return wrong_rank(t, indices.size(), k_[b].shape.size());
    return load(k_, b, indices);
}

Failure ExpressionParser::wrong_rank(const Token& t, size_t given, size_t wanted) const {
    return fail_at(t.loc, fmt::format("{} has {} dimensions, {} indices are given", t.text, wanted, given));
}

Result<std::vector<ExprId>> ExpressionParser::bracketed() {
    INGOT_TRY(expect("["));
    std::vector<ExprId> list;
    if (accept("]")) return list;
    do {
        INGOT_ASSIGN(list.emplace_back(), expr());
    } while (accept(","));
    INGOT_TRY(expect("]"));
    return list;
}

Result<ExprId> ExpressionParser::call(const Token& t) {
    next();
    INGOT_TRY(expect("("));
    std::vector<ExprId> args;
    if (!sees(")")) {
        do {
            INGOT_ASSIGN(args.emplace_back(), expr());
        } while (accept(","));
    }
    INGOT_TRY(expect(")"));
    const std::string_view text = t.text;
    const auto cast_type = type_named(text);
    const auto bits_type = text.starts_with("as_") ? type_named(text.substr(3)) : std::nullopt;
    if (cast_type || bits_type) {
        if (args.size() != 1)
            return fail_at(t.loc, fmt::format("{} takes 1 operand, {} are given", text, args.size()));
        return cast_type ? cast(k_, args[0], *cast_type) : bits(k_, args[0], *bits_type);
    }
    std::vector<std::string_view> known;
    for (const ExprOpFacts& f : kExprOps) {
        if (f.form != Form::kCall || f.spelling.empty()) continue;
        known.push_back(f.spelling);
        if (f.spelling != text) continue;
        if (args.size() != size_t(f.arity)) {
            return fail_at(t.loc,
                           fmt::format("{} takes {} operands, {} are given", text, f.arity, args.size()));
        }
        return apply(k_, f.op, args);
    }
    return fail_at(
        t.loc, fmt::format("unknown function '{}'; there are {}, a type's name, and as_ with a type's name",
                           text, joined(known)));
}

}  // namespace ingot::tile
