// A product that runs once on an accumulator of +0 needs none: gemm C = A @ B stores what gemm C += A @ B
// would add to it. Only +0 will do: -0, any other number, a second step, and whoever looks at the accumulator
// in between keep the addition, and a note says which it was.
#include <cmath>

#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

class Overwriting {
  public:
    Overwriting(Kernel& k, Plan& plan) : k_(k), plan_(plan) {}

    void run() { k_.body = block(k_.body); }

  private:
    Block block(const Block& body) {
        Block out;
        for (StmtId id : body) {
            Stmt s = k_[id];
            const Block then = block(s.body), otherwise = block(s.otherwise);
            if (then != s.body || otherwise != s.otherwise) {
                s.body = then, s.otherwise = otherwise;
                id = k_.append(std::move(s));
            }
            out.push_back(id);
        }
        for (size_t i = 0; i < out.size(); ++i)
            if (k_[out[i]].op == StmtOp::kFill && overwrite(out, i)) --i;
        return out;
    }

    // The fill out[at] goes if the product behind it can do without.
    bool overwrite(Block& out, size_t at) {
        const Stmt fill = k_[out[at]];
        const BufferId c = fill.regions[0].buffer;
        for (size_t i = at + 1; i < out.size(); ++i) {
            std::vector<StmtId> uses;
            walk(k_, {out[i]}, [&](StmtId id) {
                if (mentions(k_, k_[id], c) && k_[id].op != StmtOp::kAlloc) uses.push_back(id);
            });
            if (uses.empty()) continue;
            // Unsure where it is no product: then this was no accumulator.
            const Stmt use = k_[uses[0]];  // a copy: what is appended below moves statements
            if (use.op != StmtOp::kGemm || use.clear || use.regions[0] != fill.regions[0]) return false;
            const std::string why = why_not(fill, uses, out[i]);
            if (!why.empty()) {
                plan_.refusals.push_back({k_.where(use.loc), "overwriting the accumulator", why});
                return false;
            }
            out[i] = with_clear(out[i], uses[0]);
            plan_.notes.push_back(
                fmt::format("{}: nothing is added: {} is 0 before", k_.where(use.loc), k_[c].name));
            out.erase(out.begin() + ptrdiff_t(at));
            return true;
        }
        return false;
    }

    std::string why_not(const Stmt& fill, const std::vector<StmtId>& uses, StmtId around) const {
        const Expr& value = k_[fill.exprs[0]];
        if (value.op != ExprOp::kConst) return "it doesn't start as a literal";
        if (value.value != 0) return fmt::format("it starts as {}", value.value);
        if (std::signbit(value.value)) return "it starts as -0, which a sum keeps";
        for (const Region& r : {k_[uses[0]].regions[1], k_[uses[0]].regions[2]})
            if (r.buffer == fill.regions[0].buffer) return "it is an operand of its product";
        StmtId now = around;
        while (now != uses[0]) {
            const Stmt& s = k_[now];
            if (s.op != StmtOp::kFor) return "a branch decides whether its product runs";
            if (constant_int(k_, s.exprs[0]) != 1) return "its product runs more than once, or maybe never";
            StmtId inner;
            for (const StmtId id : s.body)
                walk(k_, {id}, [&](StmtId x) {
                    if (x == uses[0]) inner = id;
                });
            now = inner;
        }
        if (around != uses[0] && k_[fill.regions[0].buffer].scope == Scope::kShared)
            return "it may stay in registers over its loop instead";
        if (uses.size() > 1)
            return fmt::format("{} ({}) uses it in its loop", facts(k_[uses[1]].op).keyword,
                               k_.where(k_[uses[1]].loc));
        return {};
    }

    StmtId with_clear(StmtId id, StmtId gemm) {
        Stmt s = k_[id];
        if (id == gemm) {
            s.clear = true;
        } else {
            for (StmtId& inner : s.body) {
                bool has = false;
                walk(k_, {inner}, [&](StmtId x) { has |= x == gemm; });
                if (has) inner = with_clear(inner, gemm);
            }
        }
        return k_.append(std::move(s));
    }

    Kernel& k_;
    Plan& plan_;
};

}  // namespace

Result<Kernel> overwrite_accumulators(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    if (options.overwrite_accumulators) Overwriting(out, plan).run();
    return out;
}

}  // namespace ingot::tile
