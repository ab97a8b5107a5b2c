// Element loops that compute a matrix product become one:
//   parallel i < M, j < N { for k < K carry s = 0.0 -> t { yield s + f32(A[.., i, k]) * f32(B[.., k, j]) };
//   rest }
//     becomes   fragment F; gemm F = A[...] @ B[...]; parallel i < M, j < N { rest, with F[i, j] for t }
// or, where the rest only stores t in a tensor, a product that accumulates there. What a product may be
// summed in is any order, as everywhere. Axes of extent one are no axes of a product: their index is 0. The
// rest may do what element loops do, as long as nothing depends on being before the sum. No name counts, and
// a loop that stays says why.
#include <algorithm>

#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/paths.h"
#include "tile/passes/rewrite.h"
#include "tile/proof/domain.h"

namespace ingot::tile {
namespace {

class Forming {
  public:
    Forming(Kernel& k, const PlanOptions& options, Plan& plan) : k_(k), options_(options), plan_(plan) {}

    void run() {
        walk(k_, k_.body, [&](StmtId id) { last_product_ = std::max(last_product_, k_[id].product); });
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel&, StmtId id, Block& out) {
            const Stmt loop = k_[id];
            if (loop.op != StmtOp::kParallel || !form(loop, out)) out.push_back(id);
        });
    }

  private:
    // What was found of one loop.
    struct Sum {
        VarId i, j, k, result;
        int64_t m = 0, n = 0;
        Stmt gemm;
        StmtId statement;  // the loop over K
    };

    bool form(const Stmt& loop, Block& out) {
        const StmtId sum_loop = sum_in(loop);
        if (!sum_loop.valid()) return false;  // no candidate at all
        Sum sum;
        sum.statement = sum_loop;
        Stmt projected = without_unit_axes(loop);
        std::string why = why_no_product(projected, sum);
        if (why.empty() && !store_directly(projected, sum, out)) why = through_fragment(projected, sum, out);
        if (why.empty()) {
            ++plan_.formed_products, ++last_product_;
            plan_.notes.push_back(
                fmt::format("{}: the element loop sums a matrix product", k_.where(loop.loc)));
            return true;
        }
        plan_.refusals.push_back({k_.where(loop.loc), "one matrix product for the element loop", why});
        return false;
    }

    // for k { yield s + a * b } directly in the loop, if there is exactly one loop.
    StmtId sum_in(const Stmt& loop) const {
        StmtId found;
        for (const StmtId id : loop.body) {
            const Stmt& s = k_[id];
            if (s.op != StmtOp::kFor) continue;
            if (found.valid() || s.exprs.size() != 2 || s.body.size() != 1) return {};
            if (k_[s.body[0]].op != StmtOp::kYield) return {};
            const Expr& next = k_[k_[s.body[0]].exprs[0]];
            if (next.op != ExprOp::kAdd) return {};
            found = id;
        }
        return found;
    }

    Stmt without_unit_axes(const Stmt& loop) {
        Substitution zero;
        Stmt out = loop;
        out.vars.clear(), out.exprs.clear();
        for (size_t a = 0; a < loop.vars.size(); ++a) {
            if (constant_int(k_, loop.exprs[a]) == 1 && loop.vars.size() > 2) {
                zero.vars[loop.vars[a]] = constant(k_, 0);
            } else {
                out.vars.push_back(loop.vars[a]);
                out.exprs.push_back(loop.exprs[a]);
            }
        }
        if (!zero.vars.empty()) out.body = zero.apply(k_, loop.body);
        return out;
    }

    std::string why_no_product(const Stmt& loop, Sum& sum) {
        if (loop.vars.size() != 2) return fmt::format("it has {} axes; a product has two", loop.vars.size());
        const auto m = constant_int(k_, loop.exprs[0]), n = constant_int(k_, loop.exprs[1]);
        if (!m || !n || *m % 8 != 0 || *n % 8 != 0) return "its extents aren't two multiples of 8";
        sum.i = loop.vars[0], sum.j = loop.vars[1], sum.m = *m, sum.n = *n;
        sum.statement = sum_in(loop);
        const Stmt& s = k_[sum.statement];
        sum.k = s.vars[0], sum.result = s.vars[2];
        const Expr& start = k_[s.exprs[1]];
        if (start.op != ExprOp::kConst || start.value != 0 || start.type != DType::kF32)
            return "its sum doesn't start as an f32 0";
        if (!known_at_launch(s.exprs[0])) return "its sum's length isn't known at launch";
        if (std::string why = why_effects(loop, sum); !why.empty()) return why;
        return why_no_operands(s, sum);
    }

    // Effects that a product between them and the sum could change.
    std::string why_effects(const Stmt& loop, const Sum& sum) const {
        std::string why;
        walk(k_, loop.body, [&](StmtId id) {
            const Stmt& s = k_[id];
            switch (s.op) {
                case StmtOp::kFor:
                case StmtOp::kYield:
                case StmtOp::kLet:
                case StmtOp::kStore:
                    break;
                default:
                    why = fmt::format("its {} stays in order", facts(s.op).keyword);
            }
        });
        if (why.empty() && has_shuffle(k_, loop.body)) why = "a shuffle spreads its elements another way";
        for (const StmtId id : loop.body) {
            if (id == sum.statement) break;
            if (k_[id].op != StmtOp::kLet)
                why = fmt::format("a {} stands before the sum", facts(k_[id].op).keyword);
        }
        return why;
    }

    bool known_at_launch(ExprId e) const {
        bool known = true;
        for (const ExprOp op : {ExprOp::kVar, ExprOp::kLoad, ExprOp::kScalar})
            walk_ops(k_, e, op, [&](const Expr&) { known = false; });
        return known;
    }
    bool depends(ExprId e, std::initializer_list<VarId> vars) const {
        bool found = false;
        walk_ops(k_, e, ExprOp::kVar, [&](const Expr& v) {
            for (const VarId x : vars) found |= v.ref == x.index();
        });
        return found;
    }
    bool names_inner(ExprId e, const Stmt& loop) const {
        bool found = false;
        walk(k_, loop.body, [&](StmtId id) {
            for (const VarId v : k_[id].vars) found |= depends(e, {v});
        });
        return found;
    }

    std::string why_no_operands(const Stmt& s, Sum& sum) {
        const Expr& next = k_[k_[s.body[0]].exprs[0]];
        const auto is_carried = [&](ExprId e) {
            return k_[e].op == ExprOp::kVar && VarId(k_[e].ref) == s.vars[1];
        };
        const size_t carried = is_carried(next.args[0]) ? 0 : 1;
        const Expr& product = k_[next.args[1 - carried]];
        if (!is_carried(next.args[carried]) || product.op != ExprOp::kMul || product.type != DType::kF32)
            return "its sum isn't of f32 products";
        Stmt& g = sum.gemm;
        g.op = StmtOp::kGemm;
        g.loc = s.loc;
        g.clear = true;
        g.compiler_owned = true;
        g.product = last_product_ + 1;  // the planner's numbers go on
        g.regions.resize(3);
        bool left = false, right = false;
        for (const ExprId arg : product.args) {
            const Expr& x = k_[arg].op == ExprOp::kCast ? k_[k_[arg].args[0]] : k_[arg];
            if (x.op != ExprOp::kLoad || !is_float(x.type))
                return "a factor isn't an element of a float tile";
            const Expr load = x;
            if (std::string why = operand(load, s, sum, left, right); !why.empty()) return why;
        }
        if (!left || !right) return "its factors aren't one by row and one by column";
        if (k_[g.regions[1].buffer].type != k_[g.regions[2].buffer].type)
            return "its factors are of two types";
        return {};
    }

    // Index d of the load is `v` plus something that doesn't depend on i, j or k: the something; else
    // nothing.
    std::optional<ExprId> start_along(ExprId index, VarId v, const Sum& sum) {
        const Domain domain(k_);
        const Affine form = domain.affine(index);
        const auto it = form.terms.find(var(k_, v));
        if (it == form.terms.end() || it->second != 1) return std::nullopt;
        Substitution zero;
        zero.vars[v] = constant(k_, 0);
        const ExprId start = zero.apply(k_, index);
        if (depends(start, {sum.i, sum.j, sum.k})) return std::nullopt;
        return start;
    }

    std::string operand(const Expr& load, const Stmt& s, Sum& sum, bool& left, bool& right) {
        const BufferId b(load.ref);
        if (k_[b].scope == Scope::kGlobal && k_[b].role != Role::kIn)
            return fmt::format("{} may be written", k_[b].name);
        if (k_[b].scope != Scope::kGlobal && k_[b].scope != Scope::kShared)
            return fmt::format("{} is {}", k_[b].name, kScopeNames[size_t(k_[b].scope)]);
        if (k_[b].scope == Scope::kShared && !constant_int(k_, s.exprs[0]))
            return "its sum's length isn't constant";
        Region r{b, {}, {}};
        std::vector<char> kept;  // i, j or k
        for (const ExprId index : load.args) {
            r.offsets.push_back(index), r.sizes.emplace_back();
            if (!depends(index, {sum.i, sum.j, sum.k})) continue;
            for (const auto& [v, letter] : {std::pair(sum.i, 'i'), {sum.j, 'j'}, {sum.k, 'k'}}) {
                const auto start = start_along(index, v, sum);
                if (!start) continue;
                r.offsets.back() = *start;
                r.sizes.back() = letter == 'i'   ? constant(k_, double(sum.m))
                                 : letter == 'j' ? constant(k_, double(sum.n))
                                                 : s.exprs[0];
                kept.push_back(letter);
            }
            if (!r.sizes.back().valid())
                return fmt::format("an index of {} isn't an axis and an offset", k_[b].name);
        }
        for (const ExprId e : r.offsets) {
            bool reads = false;
            walk_loads(k_, e, [&](const Expr&) { reads = true; });
            if (reads || names_inner(e, k_[sum.statement]))
                return fmt::format("an index of {} is computed", k_[b].name);
        }
        const std::string axes(kept.begin(), kept.end());
        if (axes == "ik" || axes == "ki") {
            if (left) return "both factors go by row";
            left = true;
            sum.gemm.regions[1] = r, sum.gemm.transpose_a = axes == "ki";
        } else if (axes == "kj" || axes == "jk") {
            if (right) return "both factors go by column";
            right = true;
            sum.gemm.regions[2] = r, sum.gemm.transpose_b = axes == "jk";
        } else {
            return fmt::format("{} isn't indexed by the sum and one axis", k_[b].name);
        }
        return {};
    }

    // Why the product would be done element by element, as the loop is; or nothing.
    std::string why_no_path(const Stmt& gemm) {
        const auto plan = choose_path(k_, gemm, options_);
        if (!plan) return plan.error().message;
        if (plan->path == Path::kScalar) return plan->reason;
        if (plan->path == Path::kSimdgroup) return why_not_staged(k_, gemm);
        return {};
    }

    // OUT[.., i, j] = t is all that is left: the product stores there itself.
    bool store_directly(const Stmt& loop, const Sum& sum, Block& out) {
        if (loop.body.size() != 2 || loop.body[0] != sum.statement) return false;
        const Stmt& store = k_[loop.body[1]];
        if (store.op != StmtOp::kStore || k_[store.regions[0].buffer].scope != Scope::kGlobal) return false;
        const Expr& value =
            k_[store.exprs[0]].op == ExprOp::kCast ? k_[k_[store.exprs[0]].args[0]] : k_[store.exprs[0]];
        if (value.op != ExprOp::kVar || VarId(value.ref) != sum.result) return false;
        if (!is_float(k_[store.regions[0].buffer].type)) return false;
        Region r{store.regions[0].buffer, {}, {}};
        std::string axes;
        for (const ExprId index : std::vector<ExprId>(store.regions[0].offsets)) {
            r.offsets.push_back(index), r.sizes.emplace_back();
            if (!depends(index, {sum.i, sum.j})) continue;
            for (const auto& [v, letter] : {std::pair(sum.i, 'i'), {sum.j, 'j'}}) {
                const auto start = start_along(index, v, sum);
                if (!start) continue;
                r.offsets.back() = *start;
                r.sizes.back() = constant(k_, double(letter == 'i' ? sum.m : sum.n));
                axes += letter;
            }
        }
        if (axes != "ij") return false;
        Stmt gemm = sum.gemm;
        gemm.regions[0] = r;
        if (!why_no_path(gemm).empty()) return false;
        out.push_back(k_.append(std::move(gemm)));
        return true;
    }

    std::string through_fragment(const Stmt& loop, const Sum& sum, Block& out) {
        Stmt a;
        a.op = StmtOp::kAlloc;
        a.loc = loop.loc;
        a.compiler_owned = true;
        a.buffer = k_.append(Buffer{.name = k_.fresh_name(k_[sum.result].name + "_tile"),
                                    .type = DType::kF32,
                                    .scope = Scope::kFragment,
                                    .role = Role::kNone,
                                    .shape = {constant(k_, double(sum.m)), constant(k_, double(sum.n))},
                                    .strides = {},
                                    .offset = {},
                                    .loc = loop.loc});
        Stmt gemm = sum.gemm;
        gemm.regions[0] = whole(k_, a.buffer);
        if (std::string why = why_no_path(gemm); !why.empty()) return why;
        Substitution taken;
        taken.vars[sum.result] = load(k_, a.buffer, std::array{var(k_, sum.i), var(k_, sum.j)});
        Stmt rest = loop;
        rest.body.clear();
        for (const StmtId id : loop.body)
            if (id != sum.statement) rest.body.push_back(taken.apply(k_, id));
        out.push_back(k_.append(std::move(a)));
        out.push_back(k_.append(std::move(gemm)));
        out.push_back(k_.append(std::move(rest)));
        return {};
    }

    Kernel& k_;
    const PlanOptions& options_;
    Plan& plan_;
    uint32_t last_product_ = 0;
};

}  // namespace

Result<Kernel> form_products(const Kernel& k, const PlanOptions& options, Plan& plan) {
    if (!options.form_products) return k;
    Kernel out = k;
    Forming(out, options, plan).run();
    return out;
}

}  // namespace ingot::tile
