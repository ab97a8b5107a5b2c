// Tiles in shared memory that only carry an element from one element loop to the next go:
//   parallel { D[i, j] = f(C[i, j], bias[j]) }; copy OUT[...] = D
//     becomes   parallel { OUT[...] = f(C[i, j], bias[j]) }
// The element's owner computes it where it is used. That is the same if one loop writes each element once,
// out of the accumulator of a product, of other such tiles at the same place, and of tensors that nothing
// writes; if everyone who reads the tile reads at the same place, too; and if what it is made of still holds
// then. A tile that stays says why.
#include <algorithm>

#include "tile/ir/build.h"
#include "tile/passes/elementwise.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

class EpilogueFusion {
  public:
    EpilogueFusion(Kernel& k, Plan& plan) : k_(k), plan_(plan) {}

    // Each round removes one tile.
    void run() {
        while (one_tile(k_.body)) {
        }
    }

  private:
    // A tile's only writer, and its readers behind it in the same block.
    struct Producer {
        BufferId tile;
        StmtId loop;
        ExprId value;
        std::vector<StmtId> consumers;
    };

    bool one_tile(const Block& b) {
        for (size_t i = 0; i < b.size(); ++i) {
            const Stmt s = k_[b[i]];
            if (one_tile(s.body) || one_tile(s.otherwise)) return true;
            if (s.op != StmtOp::kParallel) continue;
            std::optional<Producer> p = producer(b, i);
            if (!p) continue;
            fuse(*p);
            return true;
        }
        return false;
    }

    bool is_shared(BufferId b) const { return k_[b].scope == Scope::kShared; }

    bool accumulates(BufferId b) const {
        bool found = false;
        walk(k_, k_.body,
             [&](StmtId id) { found |= k_[id].op == StmtOp::kGemm && k_[id].regions[0].buffer == b; });
        return found;
    }

    std::optional<Producer> producer(const Block& b, size_t at) {
        const Stmt& loop = k_[b[at]];
        if (loop.body.size() != 1 || k_[loop.body[0]].op != StmtOp::kStore) return std::nullopt;
        const Stmt& store = k_[loop.body[0]];
        Producer p{store.regions[0].buffer, b[at], store.exprs[0], {}};
        if (!is_shared(p.tile)) return std::nullopt;
        bool of_a_product = false;
        walk_loads(k_, p.value, [&](const Expr& l) { of_a_product |= accumulates(BufferId(l.ref)); });
        if (!of_a_product) return std::nullopt;
        std::string why = why_not_made_here(loop, p);
        if (why.empty()) why = why_not_used_here(b, at, p);
        if (why.empty()) return p;
        if (std::ranges::find(said_, p.tile) == said_.end())
            plan_.refusals.push_back(
                {k_.where(loop.loc), fmt::format("{} fused into its consumers", k_[p.tile].name), why});
        said_.push_back(p.tile);
        return std::nullopt;
    }

    std::string why_not_made_here(const Stmt& loop, const Producer& p) const {
        if (k_[p.tile].type != DType::kF32) return fmt::format("it is {}: it rounds", name(k_[p.tile].type));
        if (std::string why = why_not_elementwise(k_, loop, p.tile); !why.empty()) return why;
        if (has_shuffle(k_, loop.body)) return "a shuffle spreads its elements another way";
        std::string why;
        walk_loads(k_, p.value, [&](const Expr& l) {
            const BufferId b(l.ref);
            if (!why.empty()) return;
            if (b == p.tile) {
                why = "it is made out of itself";
            } else if (is_shared(b)) {
                why = why_not_elementwise(k_, loop, b);
                if (!why.empty()) why = fmt::format("of {}, {}", k_[b].name, why);
                if (why.empty() && !accumulates(b))
                    why = fmt::format("{} is no accumulator and isn't made of one", k_[b].name);
            } else if (k_[b].scope != Scope::kGlobal || k_[b].role != Role::kIn) {
                why = fmt::format("{} may be written", k_[b].name);
            }
        });
        return why;
    }

    std::string why_not_used_here(const Block& b, size_t at, Producer& p) const {
        std::vector<StmtId> uses;
        walk(k_, k_.body, [&](StmtId id) {
            if (mentions(k_, k_[id], p.tile) && k_[id].op != StmtOp::kAlloc) uses.push_back(id);
        });
        size_t found = 1;  // the store that makes it
        for (size_t i = at + 1; i < b.size() && found < uses.size(); ++i) {
            const Stmt& s = k_[b[i]];
            // What it is made of must hold until its last consumer.
            std::string changes;
            const auto check = [&](StmtId id) {
                for (size_t r = 0; r < k_[id].regions.size(); ++r)
                    if (access(k_[id], r) != 'r' && is_source(p, k_[id].regions[r].buffer))
                        changes = fmt::format("{} changes before it is used ({})",
                                              k_[k_[id].regions[r].buffer].name, k_.where(k_[id].loc));
            };
            check(b[i]);
            walk(k_, s.body, check), walk(k_, s.otherwise, check);
            if (!changes.empty()) return changes;
            const bool whole_copy = s.op == StmtOp::kCopy && s.regions[1].buffer == p.tile &&
                                    is_whole(k_, s.regions[1]) &&
                                    k_[s.regions[0].buffer].scope == Scope::kGlobal;
            if (whole_copy || (s.op == StmtOp::kParallel && touches(k_, s, p.tile))) {
                if (s.op == StmtOp::kParallel)
                    if (std::string why = why_not_elementwise(k_, s, p.tile); !why.empty())
                        return fmt::format("{} ({})", why, k_.where(s.loc));
                if (writes(s, p.tile)) return fmt::format("it is written again ({})", k_.where(s.loc));
                p.consumers.push_back(b[i]);
                for (const StmtId id : uses) found += id == b[i] || is_in(s.body, id);
            }
        }
        if (found != uses.size()) {
            for (const StmtId id : uses) {
                const bool known = std::ranges::any_of(
                    p.consumers, [&](StmtId c) { return c == id || is_in(k_[c].body, id); });
                if (!known && !is_in(k_[p.loop].body, id))
                    return fmt::format("{} ({}) uses it, too", facts(k_[id].op).keyword,
                                       k_.where(k_[id].loc));
            }
        }
        return p.consumers.empty() ? "nothing uses it" : "";
    }

    bool is_in(const Block& b, StmtId wanted) const {
        bool found = false;
        walk(k_, b, [&](StmtId id) { found |= id == wanted; });
        return found;
    }
    bool writes(const Stmt& s, BufferId b) const {
        bool found = false;
        walk(k_, s.body, [&](StmtId id) {
            for (const Region& r : k_[id].regions) found |= r.buffer == b;
        });
        return found;
    }
    bool is_source(const Producer& p, BufferId b) const {
        bool found = false;
        walk_loads(k_, p.value, [&](const Expr& l) { found |= l.ref == b.index(); });
        return found;
    }

    // --- the rewrite

    void fuse(const Producer& p) {
        plan_.notes.push_back(
            fmt::format("{}: {} is computed where it is used", k_.where(k_[p.loop].loc), k_[p.tile].name));
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel&, StmtId id, Block& out) {
            const Stmt s = k_[id];
            if (id == p.loop || (s.op == StmtOp::kAlloc && s.buffer == p.tile)) return;
            if (s.op == StmtOp::kCopy && s.regions[1].buffer == p.tile) {
                out.push_back(element_loop(p, s));
                return;
            }
            // In the consumers' loops.
            Stmt changed = s;
            for (ExprId& e : changed.exprs) e = with_value(p, e);
            for (Region& r : changed.regions)
                for (ExprId& e : r.offsets) e = with_value(p, e);
            const bool same = changed.exprs == s.exprs && changed.regions == s.regions;
            out.push_back(same ? id : k_.append(std::move(changed)));
        });
    }

    // The value at a place, in the place of a load of the tile from there.
    ExprId value_at(const Producer& p, ExprId i, ExprId j) {
        Substitution at;
        at.vars[k_[p.loop].vars[0]] = i;
        at.vars[k_[p.loop].vars[1]] = j;
        const ExprId value = at.apply(k_, p.value);
        return k_[value].type == DType::kF32 ? value : cast(k_, value, DType::kF32);
    }
    ExprId with_value(const Producer& p, ExprId e) {
        if (!e.valid()) return e;
        bool found = false;
        walk_loads(k_, e, [&](const Expr& l) { found |= l.ref == p.tile.index(); });
        if (!found) return e;
        const Expr x = k_[e];
        if (x.op == ExprOp::kLoad && x.ref == p.tile.index()) return value_at(p, x.args[0], x.args[1]);
        std::vector<ExprId> args;
        for (const ExprId a : x.args) args.push_back(with_value(p, a));
        if (x.op == ExprOp::kLoad) return load(k_, BufferId(x.ref), args);
        if (x.op == ExprOp::kCast) return cast(k_, args[0], x.type);
        if (x.op == ExprOp::kBits) return bits(k_, args[0], x.type);
        return apply(k_, x.op, args);
    }

    // copy OUT[...] = D, as a loop over its elements.
    StmtId element_loop(const Producer& p, const Stmt& copy) {
        Stmt loop = k_[p.loop];
        loop.loc = copy.loc;
        loop.vars.clear();
        for (const VarId v : k_[p.loop].vars)
            loop.vars.push_back(k_.append(Var{k_.fresh_name(k_[v].name), DType::kI32, VarKind::kLoop}));
        Stmt store;
        store.op = StmtOp::kStore;
        store.loc = copy.loc;
        const Region& to = copy.regions[0];
        std::vector<ExprId> at;
        size_t axis = 0;
        for (size_t d = 0; d < to.offsets.size(); ++d)
            at.push_back(to.keeps(d) ? add(k_, to.offsets[d], var(k_, loop.vars[axis++])) : to.offsets[d]);
        store.regions = {element(to.buffer, at)};
        const ExprId value = value_at(p, var(k_, loop.vars[0]), var(k_, loop.vars[1]));
        const DType type = k_[to.buffer].type;
        store.exprs = {type == DType::kF32 ? value : cast(k_, value, type)};
        loop.body = {k_.append(std::move(store))};
        loop.compiler_owned = true;
        return k_.append(std::move(loop));
    }

    Kernel& k_;
    Plan& plan_;
    std::vector<BufferId> said_;
};

}  // namespace

Result<Kernel> fuse_epilogues(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    if (options.fuse_epilogues) EpilogueFusion(out, plan).run();
    return out;
}

}  // namespace ingot::tile
