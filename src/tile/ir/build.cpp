#include "tile/ir/build.h"

#include <array>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace ingot::tile {
namespace {

bool is_constant(const Kernel& k, ExprId e) {
    return k[e].op == ExprOp::kConst;
}

int64_t floor_div(int64_t a, int64_t b) {
    const int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

double whole_number(ExprOp op, int64_t a, int64_t b) {
    switch (op) {
        case ExprOp::kDiv:
            return b == 0 ? 0 : double(floor_div(a, b));
        case ExprOp::kMod:
            return b == 0 ? 0 : double(a - floor_div(a, b) * b);
        case ExprOp::kCeilDiv:
            return b == 0 ? 0 : double(-floor_div(-a, b));
        case ExprOp::kBitAnd:
            return double(a & b);
        case ExprOp::kBitOr:
            return double(a | b);
        case ExprOp::kBitXor:
            return double(a ^ b);
        case ExprOp::kShl:
            return double(int64_t(uint64_t(a) << (b & 31)));
        case ExprOp::kShr:
            return double(a >> (b & 31));
        case ExprOp::kBitNot:
            return double(~a);
        case ExprOp::kMul:  // the product of two 32-bit numbers is exact in 64 bits, not in a double
            return double(int64_t(uint64_t(a) * uint64_t(b)) & 0xFFFFFFFF);
        default:
            INGOT_CHECK(false, "no whole-number operator {}", facts(op).id);
    }
}

double float_function(ExprOp op, double a, double b) {
    switch (op) {
        case ExprOp::kFloor:
            return std::floor(a);
        case ExprOp::kCeil:
            return std::ceil(a);
        case ExprOp::kRound:
            return std::nearbyint(a);
        case ExprOp::kExp:
            return std::exp(a);
        case ExprOp::kExp2:
            return std::exp2(a);
        case ExprOp::kLog:
            return std::log(a);
        case ExprOp::kLog2:
            return std::log2(a);
        case ExprOp::kSqrt:
            return std::sqrt(a);
        case ExprOp::kRsqrt:
            return 1 / std::sqrt(a);
        case ExprOp::kSin:
            return std::sin(a);
        case ExprOp::kCos:
            return std::cos(a);
        case ExprOp::kTanh:
            return std::tanh(a);
        case ExprOp::kSigmoid:
            return 1 / (1 + std::exp(-a));
        case ExprOp::kErf:
            return std::erf(a);
        case ExprOp::kPow:
            return std::pow(a, b);
        default:
            INGOT_CHECK(false, "no function {}", facts(op).id);
    }
}

// x + 0, x * 1 and the like of index arithmetic; an invalid id where nothing is known.
ExprId identity(Kernel& k, ExprOp op, ExprId a, ExprId b) {
    const auto ca = constant_int(k, a), cb = constant_int(k, b);
    switch (op) {
        case ExprOp::kAdd:
            return cb == 0 ? a : ca == 0 ? b : ExprId();
        case ExprOp::kSub:
            return cb == 0 ? a : a == b ? constant(k, 0, k[a].type) : ExprId();
        case ExprOp::kMul:
            return cb == 1 || ca == 0 ? a : ca == 1 || cb == 0 ? b : ExprId();
        case ExprOp::kDiv:
        case ExprOp::kCeilDiv:
            return cb == 1 ? a : ExprId();
        case ExprOp::kMod:
            return cb == 1 ? constant(k, 0, k[a].type) : ExprId();
        case ExprOp::kMin:
        case ExprOp::kMax:
            return a == b ? a : ExprId();
        default:
            return {};
    }
}

}  // namespace

ExprId constant(Kernel& k, double value, DType type) {
    return k.intern({.op = ExprOp::kConst, .type = type, .ref = 0, .value = wrap(type, value), .args = {}});
}
ExprId var(Kernel& k, VarId v) {
    return k.intern({.op = ExprOp::kVar, .type = k[v].type, .ref = v.index(), .value = 0, .args = {}});
}
ExprId dim(Kernel& k, DimId d) {
    return k.intern({.op = ExprOp::kDim, .type = DType::kI32, .ref = d.index(), .value = 0, .args = {}});
}
ExprId scalar(Kernel& k, ScalarId s) {
    return k.intern({.op = ExprOp::kScalar, .type = k[s].type, .ref = s.index(), .value = 0, .args = {}});
}
ExprId load(Kernel& k, BufferId b, std::span<const ExprId> indices) {
    return k.intern({.op = ExprOp::kLoad,
                     .type = k[b].type,
                     .ref = b.index(),
                     .value = 0,
                     .args = std::vector<ExprId>(indices.begin(), indices.end())});
}

ExprId cast(Kernel& k, ExprId e, DType type) {
    if (k[e].type == type) return e;
    if (is_constant(k, e)) {
        const bool truncates = is_float(k[e].type) && !is_float(type) && type != DType::kBool;
        return constant(k, truncates ? std::trunc(k[e].value) : k[e].value, type);
    }
    return k.intern({.op = ExprOp::kCast, .type = type, .ref = 0, .value = 0, .args = {e}});
}

ExprId bits(Kernel& k, ExprId e, DType type) {
    if (k[e].type == type) return e;
    return k.intern({.op = ExprOp::kBits, .type = type, .ref = 0, .value = 0, .args = {e}});
}

double evaluate(ExprOp op, DType type, DType result, std::span<const double> args) {
    const double a = args[0], b = args.size() > 1 ? args[1] : 0;
    const bool floats = is_float(type);
    switch (op) {
        case ExprOp::kOr:
            return a != 0 || b != 0;
        case ExprOp::kAnd:
            return a != 0 && b != 0;
        case ExprOp::kNot:
            return a == 0;
        case ExprOp::kEq:
            return a == b;
        case ExprOp::kNe:
            return a != b;
        case ExprOp::kLt:
            return a < b;
        case ExprOp::kLe:
            return a <= b;
        case ExprOp::kGt:
            return a > b;
        case ExprOp::kGe:
            return a >= b;
        case ExprOp::kAdd:
            return wrap(result, a + b);
        case ExprOp::kSub:
            return wrap(result, a - b);
        case ExprOp::kNeg:
            return wrap(result, -a);
        case ExprOp::kAbs:
            return wrap(result, std::fabs(a));
        case ExprOp::kMin:
            return floats ? std::fmin(a, b) : std::min(a, b);
        case ExprOp::kMax:
            return floats ? std::fmax(a, b) : std::max(a, b);
        case ExprOp::kSelect:
            return a != 0 ? b : args[2];
        case ExprOp::kCast:
            if (floats && !is_float(result) && result != DType::kBool) return wrap(result, std::trunc(a));
            return wrap(result, a);
        case ExprOp::kBits:
            return from_bits(result, to_bits(type, a));
        case ExprOp::kMul:
            if (floats) return a * b;
            break;
        case ExprOp::kDiv:
            if (floats) return a / b;
            break;
        default:
            if (floats) return float_function(op, a, b);
    }
    return wrap(result, whole_number(op, int64_t(a), int64_t(b)));
}

ExprId apply(Kernel& k, ExprOp op, std::span<const ExprId> args) {
    const ExprOpFacts& f = facts(op);
    INGOT_CHECK(args.size() == size_t(f.arity), "{} takes {} operands", f.id, f.arity);
    std::vector<ExprId> operands(args.begin(), args.end());
    if (f.rule == TypeRule::kShuffle)
        return k.intern(
            {.op = op, .type = k[args[0]].type, .ref = 0, .value = 0, .args = std::move(operands)});
    if (f.rule == TypeRule::kFloat) {
        for (ExprId& e : operands)
            if (is_integer(k[e].type)) e = cast(k, e, DType::kF32);
    }
    const size_t first = f.rule == TypeRule::kSelect ? 1 : 0;
    if (operands.size() - first == 2) {  // two operands meet in one type; a literal never widens the other
        const DType a = k[operands[first]].type, b = k[operands[first + 1]].type;
        DType meet = promote(a, b);
        const bool literal_a = is_constant(k, operands[first]),
                   literal_b = is_constant(k, operands[first + 1]);
        if (literal_a != literal_b) {
            const DType other = literal_a ? b : a, literal = literal_a ? a : b;
            if (is_float(other) || !is_float(literal)) meet = other;
        }
        operands[first] = cast(k, operands[first], meet);
        operands[first + 1] = cast(k, operands[first + 1], meet);
    }
    const DType type = k[operands.back()].type;
    const bool truth = f.rule == TypeRule::kCompare || f.rule == TypeRule::kLogic;
    const DType result = truth ? DType::kBool : type;
    if (is_integer(type) && !truth && f.arity == 2) {
        if (const ExprId same = identity(k, op, operands[0], operands[1]); same.valid()) return same;
    }
    bool all_constant = f.rule != TypeRule::kSelect && (is_integer(type) || op == ExprOp::kNeg);
    for (const ExprId e : operands) all_constant &= is_constant(k, e);
    const bool applies = f.rule != TypeRule::kFloat || is_float(type);
    if (all_constant && applies && f.rule != TypeRule::kLogic) {
        std::vector<double> values;
        for (const ExprId e : operands) values.push_back(k[e].value);
        const bool divides = op == ExprOp::kDiv || op == ExprOp::kMod || op == ExprOp::kCeilDiv;
        if (!divides || values[1] != 0) return constant(k, evaluate(op, type, result, values), result);
    }
    return k.intern({.op = op, .type = result, .ref = 0, .value = 0, .args = std::move(operands)});
}

Region whole(Kernel& k, BufferId b) {
    const std::vector<ExprId> sizes = k[b].shape;
    return {b, std::vector<ExprId>(sizes.size(), constant(k, 0)), sizes};
}

Region element(BufferId b, std::span<const ExprId> indices) {
    return {b, std::vector<ExprId>(indices.begin(), indices.end()), std::vector<ExprId>(indices.size())};
}

}  // namespace ingot::tile
