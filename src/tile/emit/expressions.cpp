#include <cmath>

#include "tile/emit/emitter.h"

namespace ingot::tile {
namespace {

// C++'s own levels, so that only needed parentheses are written.
int level(ExprOp op) {
    switch (op) {
        case ExprOp::kOr:
            return 1;
        case ExprOp::kAnd:
            return 2;
        case ExprOp::kBitOr:
        case ExprOp::kBitXor:
        case ExprOp::kBitAnd:
            return 3;
        case ExprOp::kEq:
        case ExprOp::kNe:
        case ExprOp::kLt:
        case ExprOp::kLe:
        case ExprOp::kGt:
        case ExprOp::kGe:
            return 6;
        case ExprOp::kShl:
        case ExprOp::kShr:
            return 7;
        case ExprOp::kAdd:
        case ExprOp::kSub:
            return 8;
        default:
            return 9;
    }
}

// C promotes small integers to int: the result must be cut back to the type.
bool needs_cut(const Expr& e) {
    if (!is_integer(e.type) || size_bytes(e.type) == 4) return false;
    return e.op == ExprOp::kAdd || e.op == ExprOp::kSub || e.op == ExprOp::kMul || e.op == ExprOp::kShl ||
           e.op == ExprOp::kBitNot || e.op == ExprOp::kNeg;
}

}  // namespace

std::string Emitter::number(double value, DType type) const {
    if (type == DType::kBool) return value != 0 ? "true" : "false";
    if (!is_float(type)) {
        if (type == DType::kI32)
            return value == -2147483648.0 ? "(-2147483647 - 1)" : fmt::format("{}", int64_t(value));
        if (type == DType::kU32) return fmt::format("{}u", int64_t(value));
        return fmt::format("{}({})", facts(type).msl, int64_t(value));
    }
    std::string text;
    if (std::isnan(value)) {
        text = "NAN";
    } else if (std::isinf(value)) {
        text = value > 0 ? "INFINITY" : "-INFINITY";
    } else {
        text = fmt::format("{}", float(value));
        if (text.find_first_of(".e") == std::string::npos) text += ".0";
        text += 'f';
    }
    return type == DType::kF32 ? text : fmt::format("{}({})", facts(type).msl, text);
}

std::string Emitter::converted(const std::string& value, DType from, DType to) const {
    return from == to ? value : fmt::format("{}({})", facts(to).msl, value);
}

int64_t Emitter::stride_of(BufferId b, size_t d) const {
    const size_t rank = k_[b].shape.size();
    int64_t stride = 1;
    const auto padded = plan_.row_stride.find(b);
    for (size_t i = rank; i-- > d + 1;)
        stride *= i == rank - 1 && padded != plan_.row_stride.end() ? padded->second : extent(k_, b, i);
    return stride;
}

bool Emitter::contiguous_last(BufferId b) const {
    const Buffer& x = k_[b];
    return x.strides.empty() || constant_int(k_, x.strides.back()) == 1;
}

std::string Emitter::stride_text(BufferId b, size_t d) const {
    const Buffer& x = k_[b];
    auto* self = const_cast<Emitter*>(this);
    if (x.scope != Scope::kGlobal) return fmt::format("{}", stride_of(b, d));
    if (!x.strides.empty()) return self->expr(x.strides[d], 9);
    int64_t known = 1;
    std::string text;
    for (size_t i = d + 1; i < x.shape.size(); ++i) {
        if (const auto n = constant_int(k_, x.shape[i])) {
            known *= *n;
        } else {
            text += (text.empty() ? "" : " * ") + self->expr(x.shape[i], 10);
        }
    }
    if (text.empty()) return fmt::format("{}", known);
    return known == 1 ? text : fmt::format("{} * {}", known, text);
}

std::string Emitter::place(BufferId b, const std::vector<std::string>& at) const {
    const Buffer& x = k_[b];
    auto* self = const_cast<Emitter*>(this);
    // More than 2^31 elements: addresses are 64 bits wide unless the sizes are known to be smaller.
    bool wide = false;
    if (x.scope == Scope::kGlobal) {
        __int128 most = 1;
        for (const ExprId e : x.shape) {
            const auto n = constant_int(k_, e);
            most = n && most >= 0 ? most * (*n + 1) : -1;
            wide |= most < 0 || most > 2147483647;
        }
        for (const ExprId e : x.strides) {
            const auto n = constant_int(k_, e);
            wide |= !n || most < 0 || __int128(*n) * most > 2147483647;
        }
    }
    std::string text;
    for (size_t d = 0; d < at.size(); ++d) {
        if (at[d] == "0") continue;
        const std::string stride = stride_text(b, d);
        if (!text.empty()) text += " + ";
        const bool sum = at[d].find_first_of("+-?<>&|%/ ") != std::string::npos;
        if (stride == "1") {
            text += at[d];
        } else if (wide) {
            text += fmt::format("long({}) * {}", at[d],
                                stride.find(' ') == std::string::npos ? stride : "(" + stride + ")");
        } else {
            text += fmt::format("{} * {}", sum ? "(" + at[d] + ")" : at[d], stride);
        }
    }
    if (x.offset.valid()) text = self->expr(x.offset) + (text.empty() ? "" : " + " + text);
    return fmt::format("{}[{}]", x.name, text.empty() ? "0" : text);
}

std::string Emitter::guard(BufferId b, const std::vector<Index>& at) {
    std::string text;
    const auto require = [&](const std::string& condition) {
        text += (text.empty() ? "" : " && ") + condition;
    };
    for (size_t d = 0; d < at.size(); ++d) {
        const ExprId limit = k_[b].shape[d];
        const Index& i = at[d];
        const bool low = i.base.valid() && domain_.proves_non_negative(i.base);
        const bool high = i.base.valid() && i.span > 0 && domain_.proves_within(i.base, i.span, limit);
        const bool simple = i.text.find_first_of("<>=&|?") == std::string::npos;
        const std::string index = simple ? i.text : "(" + i.text + ")";
        if (!low) require(index + " >= 0");
        if (!high) require(fmt::format("{} < {}", index, expr(limit, 7)));
    }
    return text;
}

std::string Emitter::load(const Expr& e) {
    const BufferId b(e.ref);
    if (const auto it = element_.find(b); it != element_.end()) return it->second;
    std::vector<std::string> at;
    std::vector<Index> index;
    for (const ExprId a : e.args) {
        at.push_back(expr(a));
        index.push_back({at.back(), a, 1});
    }
    const std::string inside = guard(b, index), value = place(b, at);
    return inside.empty() ? value : fmt::format("({} ? {} : {})", inside, value, zero(e.type));
}

std::string Emitter::whole_division(const Expr& e) {
    const std::string a = expr(e.args[0], 9), b = expr(e.args[1], 10);
    const bool natural = facts(e.type).cls == TypeClass::kUnsigned ||
                         (domain_.proves_non_negative(e.args[0]) && domain_.interval(e.args[1]).lo > 0);
    if (e.op == ExprOp::kCeilDiv) {
        const auto c = constant_int(k_, e.args[1]);
        if (natural && c) return fmt::format("({} + {}) / {}", expr(e.args[0], 8), *c - 1, *c);
        uses_floor_div_ = true;
        return fmt::format("-floor_div(-({}), {})", expr(e.args[0]), expr(e.args[1]));
    }
    if (natural) return fmt::format("{} {} {}", a, e.op == ExprOp::kDiv ? '/' : '%', b);
    uses_floor_div_ = true;
    if (e.op == ExprOp::kDiv) return fmt::format("floor_div({}, {})", expr(e.args[0]), expr(e.args[1]));
    return fmt::format("floor_mod({}, {})", expr(e.args[0]), expr(e.args[1]));
}

std::string Emitter::call(const Expr& e) {
    const bool brain = e.type == DType::kBF16;  // Metal's math functions know no bfloat
    const auto arg = [&](size_t i) {
        const std::string text = expr(e.args[i]);
        return brain && k_[e.args[i]].type == DType::kBF16 ? fmt::format("float({})", text) : text;
    };
    const auto back = [&](const std::string& text) { return brain ? fmt::format("bfloat({})", text) : text; };
    const bool floats = is_float(e.type);
    switch (e.op) {
        case ExprOp::kMin:
            return back(fmt::format("{}({}, {})", floats ? "fmin" : "min", arg(0), arg(1)));
        case ExprOp::kMax:
            return back(fmt::format("{}({}, {})", floats ? "fmax" : "max", arg(0), arg(1)));
        case ExprOp::kAbs:
            return back(fmt::format("{}({})", floats ? "fabs" : "abs", arg(0)));
        case ExprOp::kRound:
            return back(fmt::format("rint({})", arg(0)));
        case ExprOp::kSigmoid:
            return fmt::format("{}(1.0f / (1.0f + exp(-float({}))))", facts(e.type).msl, expr(e.args[0]));
        case ExprOp::kErf:
            uses_erf_ = true;
            return fmt::format("{}(error_function(float({})))", facts(e.type).msl, expr(e.args[0]));
        case ExprOp::kSelect:
            return fmt::format("({} ? {} : {})", expr(e.args[0], 1), expr(e.args[1]), expr(e.args[2]));
        case ExprOp::kShuffle: {
            // A type's own value: small integers may have become int on their way, and bfloat isn't shuffled.
            const std::string value = fmt::format("{}({})", facts(e.type).msl, expr(e.args[0]));
            const std::string lane = fmt::format("ushort({})", expr(e.args[1]));
            if (!brain) return fmt::format("simd_shuffle({}, {})", value, lane);
            return fmt::format("as_type<bfloat>(simd_shuffle(as_type<ushort>({}), {}))", value, lane);
        }
        case ExprOp::kPow:
            return back(fmt::format("pow({}, {})", arg(0), arg(1)));
        default:
            return back(fmt::format("{}({})", facts(e.op).spelling, arg(0)));
    }
}

std::string Emitter::expr(ExprId id, int outer) {
    const Expr& e = k_[id];
    const ExprOpFacts& f = facts(e.op);
    std::string text;
    int own = level(e.op);
    switch (e.op) {
        case ExprOp::kConst:
            text = number(e.value, e.type);
            return e.value < 0 && outer > 0 && e.type != DType::kI32 ? "(" + text + ")" : text;
        case ExprOp::kVar: {
            const auto it = names_.find(VarId(e.ref));
            return it == names_.end() ? k_[VarId(e.ref)].name : it->second;
        }
        case ExprOp::kDim:
            return "args." + k_[DimId(e.ref)].name;
        case ExprOp::kScalar:
            return "args." + k_[ScalarId(e.ref)].name;
        case ExprOp::kLoad:
            return load(e);
        case ExprOp::kCast:
            return fmt::format("{}({})", facts(e.type).msl, expr(e.args[0]));
        case ExprOp::kBits:
            // The operand may have been promoted to int on its way.
            return fmt::format("as_type<{}>({}({}))", facts(e.type).msl, facts(k_[e.args[0]].type).msl,
                               expr(e.args[0]));
        default:
            break;
    }
    if (is_integer(e.type) && (e.op == ExprOp::kDiv || e.op == ExprOp::kMod || e.op == ExprOp::kCeilDiv)) {
        text = whole_division(e);
        own = text.starts_with("floor") || text.starts_with("-floor") ? 10 : 9;
    } else if (f.form == Form::kCall) {
        return call(e);
    } else if (f.form == Form::kPrefix) {
        text = fmt::format("{}{}", f.spelling, expr(e.args[0], 10));
        if (needs_cut(e)) return fmt::format("{}({})", facts(e.type).msl, text);
        own = 9;
    } else {
        // Bitwise operators and comparisons always show what they group.
        const bool obvious = own >= 8 || own <= 2;
        text = fmt::format("{} {} {}", expr(e.args[0], obvious ? own : 9), f.spelling,
                           expr(e.args[1], obvious ? own + 1 : 9));
        if (needs_cut(e)) return fmt::format("{}({})", facts(e.type).msl, text);
    }
    return own < outer ? "(" + text + ")" : text;
}

}  // namespace ingot::tile
