#include "tile/proof/domain.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ingot::tile {
namespace {

constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<int64_t>::max();

int64_t saturated(__int128 value) {
    return value <= kLow ? kLow : value >= kHigh ? kHigh : int64_t(value);
}
bool unbounded(int64_t x) {
    return x == kLow || x == kHigh;
}
int64_t plus(int64_t a, int64_t b) {
    if (unbounded(a)) return a;
    return unbounded(b) ? b : saturated(__int128(a) + b);
}
int64_t times(int64_t a, int64_t b) {
    if (a == 0 || b == 0) return 0;
    if (unbounded(a) || unbounded(b)) return (a < 0) == (b < 0) ? kHigh : kLow;
    return saturated(__int128(a) * b);
}
Interval operator+(Interval a, Interval b) {
    return {plus(a.lo, b.lo), plus(a.hi, b.hi)};
}
Interval operator*(Interval a, Interval b) {
    const int64_t corners[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
    return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}
int64_t floor_of_quotient(int64_t a, int64_t b) {
    if (unbounded(a)) return a;
    const int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

Interval range_of(DType type) {
    const TypeFacts& f = facts(type);
    if (f.cls == TypeClass::kSigned) return {-(int64_t{1} << (f.bits - 1)), (int64_t{1} << (f.bits - 1)) - 1};
    if (f.cls == TypeClass::kUnsigned) return {0, (int64_t{1} << f.bits) - 1};
    return f.cls == TypeClass::kBool ? Interval{0, 1} : Interval::all();
}

}  // namespace

Interval Interval::all() {
    return {kLow, kHigh};
}

void Domain::bound(VarId v, ExprId extent) {
    const Interval n = interval(extent);
    vars_[v] = {0, std::max<int64_t>(0, plus(n.hi, -1))};
    if (!constant_int(*k_, extent)) extents_[v] = extent;
}

void Domain::bound_grid() {
    for (size_t i = 0; i < k_->grid.size(); ++i) bound(k_->grid[i], k_->grid_extents[i]);
}

void Domain::bound_loops() {
    bound_loops(k_->body);
}

void Domain::bound_loops(const Block& body) {
    for (const StmtId id : body) {
        const Stmt& s = (*k_)[id];
        if (s.op == StmtOp::kFor) bound(s.vars[0], s.exprs[0]);
        if (s.op == StmtOp::kParallel)
            for (size_t i = 0; i < s.vars.size(); ++i) bound(s.vars[i], s.exprs[i]);
        bound_loops(s.body);
        bound_loops(s.otherwise);
    }
}

void Domain::assume(ExprId condition) {
    const Expr& e = (*k_)[condition];
    if (e.op == ExprOp::kAnd) {
        assume(e.args[0]);
        assume(e.args[1]);
        return;
    }
    if (e.op != ExprOp::kLt && e.op != ExprOp::kLe && e.op != ExprOp::kGt && e.op != ExprOp::kGe) return;
    const bool flipped = e.op == ExprOp::kGt || e.op == ExprOp::kGe;
    const ExprId small = e.args[flipped], large = e.args[!flipped];
    const int64_t strict = e.op == ExprOp::kLt || e.op == ExprOp::kGt;
    // A side that is a variable and a constant bounds the variable by the other side's interval.
    const auto refine = [&](ExprId side, Interval other, bool below) {
        const Affine a = affine(side);
        if (a.terms.size() != 1 || a.terms.begin()->second != 1) return;
        const Expr& x = (*k_)[a.terms.begin()->first];
        if (x.op != ExprOp::kVar) return;
        const VarId v(x.ref);
        const auto it = vars_.find(v);
        Interval known = it == vars_.end() ? range_of(x.type) : it->second;
        if (below) {
            known.hi = std::min(known.hi, plus(other.hi, -strict - a.constant));
        } else {
            known.lo = std::max(known.lo, plus(other.lo, strict - a.constant));
        }
        if (known.lo > known.hi) empty_ = true;
        if (known.lo <= known.hi) vars_[v] = known;
    };
    const Interval s = interval(small), l = interval(large);
    refine(small, l, true);
    refine(large, s, false);
}

void Domain::add(Affine& out, ExprId id, int64_t factor) const {
    const Expr& e = (*k_)[id];
    if (e.op == ExprOp::kConst && !is_float(e.type)) {
        out.constant += factor * int64_t(e.value);
        return;
    }
    if (e.type == DType::kI32) {
        if (e.op == ExprOp::kAdd || e.op == ExprOp::kSub) {
            add(out, e.args[0], factor);
            add(out, e.args[1], e.op == ExprOp::kAdd ? factor : -factor);
            return;
        }
        if (e.op == ExprOp::kMul) {
            for (const int i : {0, 1}) {
                const auto c = constant_int(*k_, e.args[size_t(i)]);
                if (!c || std::abs(*c) > (int64_t{1} << 31)) continue;
                add(out, e.args[size_t(1 - i)], factor * *c);
                return;
            }
        }
        if (e.op == ExprOp::kNeg) {
            add(out, e.args[0], -factor);
            return;
        }
    }
    const int64_t sum = out.terms[id] += factor;
    if (sum == 0) out.terms.erase(id);
}

Affine Domain::affine(ExprId e) const {
    Affine out;
    add(out, e, 1);
    return out;
}

Interval Domain::interval(const Affine& a) const {
    Interval sum{a.constant, a.constant};
    for (const auto& [term, factor] : a.terms) sum = sum + term_interval(term) * Interval{factor, factor};
    return sum;
}

Interval Domain::interval(ExprId e) const {
    return interval(affine(e));
}

Interval Domain::term_interval(ExprId id) const {
    const Expr& e = (*k_)[id];
    const auto arg = [&](size_t i) { return interval(e.args[i]); };
    const Interval full = range_of(e.type);
    switch (e.op) {
        case ExprOp::kVar: {
            const auto it = vars_.find(VarId(e.ref));
            return it == vars_.end() ? full : it->second;
        }
        case ExprOp::kDim:
            return {0, full.hi};
        case ExprOp::kMul:
            if (e.type == DType::kI32) return arg(0) * arg(1);
            return full;
        case ExprOp::kDiv:
        case ExprOp::kCeilDiv: {
            const auto c = constant_int(*k_, e.args[1]);
            if (!c || *c <= 0) return arg(0).lo >= 0 && arg(1).lo >= 0 ? Interval{0, arg(0).hi} : full;
            const int64_t up = e.op == ExprOp::kCeilDiv ? *c - 1 : 0;
            return {floor_of_quotient(plus(arg(0).lo, up), *c), floor_of_quotient(plus(arg(0).hi, up), *c)};
        }
        case ExprOp::kMod: {
            const auto c = constant_int(*k_, e.args[1]);
            if (!c || *c <= 0)
                return arg(0).lo >= 0 && arg(1).lo > 0 ? Interval{0, plus(arg(1).hi, -1)} : full;
            const Interval a = arg(0);
            return a.lo >= 0 && a.hi < *c ? a : Interval{0, *c - 1};
        }
        case ExprOp::kMin:
            return {std::min(arg(0).lo, arg(1).lo), std::min(arg(0).hi, arg(1).hi)};
        case ExprOp::kMax:
            return {std::max(arg(0).lo, arg(1).lo), std::max(arg(0).hi, arg(1).hi)};
        case ExprOp::kSelect:
            return {std::min(arg(1).lo, arg(2).lo), std::max(arg(1).hi, arg(2).hi)};
        case ExprOp::kCast: {
            if (is_float((*k_)[e.args[0]].type)) return full;
            const Interval a = arg(0);
            return a.lo >= full.lo && a.hi <= full.hi ? a : full;
        }
        case ExprOp::kBitAnd: {
            for (const size_t i : {size_t{0}, size_t{1}}) {
                const auto c = constant_int(*k_, e.args[i]);
                if (c && *c >= 0) return {0, *c};
            }
            return full;
        }
        case ExprOp::kShr: {
            const auto c = constant_int(*k_, e.args[1]);
            if (!c || *c < 0 || *c > 31 || arg(0).lo < 0) return full;
            return {arg(0).lo >> *c, arg(0).hi >> *c};
        }
        default:
            return full;
    }
}

int64_t Domain::term_divisor(ExprId id) const {
    const Expr& e = (*k_)[id];
    switch (e.op) {
        case ExprOp::kDim:
            return (*k_)[DimId(e.ref)].multiple_of;
        case ExprOp::kMul: {
            const __int128 product = __int128(divisor(e.args[0])) * divisor(e.args[1]);
            return product > (int64_t{1} << 40) ? 1 : int64_t(product);
        }
        case ExprOp::kMod: {  // x - c * floor(x / c)
            const auto c = constant_int(*k_, e.args[1]);
            return c ? std::gcd(divisor(e.args[0]), *c) : 1;
        }
        case ExprOp::kMin:
        case ExprOp::kMax:
            return std::gcd(divisor(e.args[0]), divisor(e.args[1]));
        case ExprOp::kSelect:
            return std::gcd(divisor(e.args[1]), divisor(e.args[2]));
        default:
            return 1;
    }
}

int64_t Domain::divisor(const Affine& a) const {
    int64_t d = std::abs(a.constant);
    for (const auto& [term, factor] : a.terms) {
        const __int128 product = __int128(term_divisor(term)) * std::abs(factor);
        d = std::gcd(d, product > (int64_t{1} << 40) ? 1 : int64_t(product));
    }
    return d;
}

int64_t Domain::divisor(ExprId e) const {
    return divisor(affine(e));
}

bool Domain::proves_within(ExprId offset, int64_t span, ExprId limit) const {
    Affine gap = affine(limit);  // limit - offset - span >= 0?
    const Affine from = affine(offset);
    gap.constant -= from.constant + span;
    for (const auto& [term, factor] : from.terms)
        if ((gap.terms[term] -= factor) == 0) gap.terms.erase(term);
    if (interval(gap).lo >= 0) return true;
    // A variable below a symbolic extent: try its largest value, extent - 1, in its place. c * e is at
    // most x where e is x / c, or ceildiv(x, c) of a multiple of c.
    for (const auto& [v, extent] : extents_) {
        for (const auto& [term, factor] : gap.terms) {
            if ((*k_)[term].op != ExprOp::kVar || VarId((*k_)[term].ref) != v || factor >= 0) continue;
            Affine most = gap;
            most.terms.erase(term);
            most.constant -= factor;
            const Expr& e = (*k_)[extent];
            const bool divides = e.op == ExprOp::kCeilDiv || e.op == ExprOp::kDiv;
            const auto c = divides ? constant_int(*k_, e.args[1]) : std::nullopt;
            const bool exact =
                c && *c > 0 && factor % *c == 0 && (e.op == ExprOp::kDiv || divisor(e.args[0]) % *c == 0);
            const Affine upper = affine(exact ? e.args[0] : extent);
            const int64_t scale = exact ? factor / *c : factor;
            most.constant += scale * upper.constant;
            for (const auto& [t, f] : upper.terms)
                if ((most.terms[t] += scale * f) == 0) most.terms.erase(t);
            if (interval(most).lo >= 0) return true;
        }
    }
    return false;
}

bool Domain::disproves_index(ExprId e, ExprId limit) const {
    const Interval i = interval(e), n = interval(limit);
    return i.hi < 0 || (!unbounded(n.hi) && i.lo >= n.hi);
}

bool Domain::proves_different(ExprId a, ExprId b) const {
    Affine gap = affine(a);
    for (const auto& [term, factor] : affine(b).terms)
        if ((gap.terms[term] -= factor) == 0) gap.terms.erase(term);
    gap.constant -= affine(b).constant;
    const Interval i = interval(gap);
    if (i.lo > 0 || i.hi < 0) return true;
    // x % c against y % c where x - y is a constant that c doesn't divide.
    const Expr &p = (*k_)[a], &q = (*k_)[b];
    if (p.op != ExprOp::kMod || q.op != ExprOp::kMod || p.args[1] != q.args[1]) return false;
    const auto c = constant_int(*k_, p.args[1]);
    Affine inner = affine(p.args[0]);
    const Affine other = affine(q.args[0]);
    for (const auto& [term, factor] : other.terms)
        if ((inner.terms[term] -= factor) == 0) inner.terms.erase(term);
    inner.constant -= other.constant;
    return c && *c > 0 && inner.terms.empty() && inner.constant % *c != 0;
}

}  // namespace ingot::tile
