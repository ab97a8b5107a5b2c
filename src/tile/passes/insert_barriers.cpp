// Walks the group-level statements with the accesses since the last barrier; one that conflicts with the next
// statement puts a barrier in front of it. Loops are walked until the accesses that go round the back edge
// settle; those of the iteration before are told from this one's by their index (k - 1 for k).
#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"
#include "tile/proof/domain.h"

namespace ingot::tile {
namespace {

struct Access {
    Region region;  // without offsets: any part of the buffer
    bool writes;
};
using Accesses = std::vector<Access>;

class Synchronisation {
  public:
    Synchronisation(Kernel& k, const Plan& plan, bool coalesce)
        : k_(k), plan_(plan), coalesce_(coalesce), domain_(k) {
        domain_.bound_grid();
    }

    void run() {
        Accesses pending;
        k_.body = block(k_.body, pending);
    }

  private:
    bool counts(BufferId b) const {
        const Buffer& x = k_[b];
        if (x.scope == Scope::kGlobal) return x.role != Role::kIn;
        return x.scope == Scope::kShared;
    }
    void touch(Accesses& out, Region r, bool writes) const {
        if (counts(r.buffer)) out.push_back({std::move(r), writes});
    }
    void touch_loads(Accesses& out, const Stmt& s) const {
        for (const ExprId e : expressions(s))
            walk_loads(k_, e, [&](const Expr& l) { touch(out, Region{BufferId(l.ref), {}, {}}, false); });
    }

    Accesses of(StmtId id) const {
        const Stmt& s = k_[id];
        Accesses out;
        if (s.op == StmtOp::kParallel) {
            touch_loads(out, s);
            walk(k_, s.body, [&](StmtId inner) {
                const Stmt& i = k_[inner];
                touch_loads(out, i);
                for (const Region& r : i.regions) touch(out, Region{r.buffer, {}, {}}, true);
            });
            return out;
        }
        touch_loads(out, s);
        for (size_t i = 0; i < s.regions.size(); ++i) {
            const char how = access(s, i);
            touch(out, s.regions[i], how != 'r');
        }
        return out;
    }

    bool apart(const Region& a, const Region& b) const {
        for (size_t d = 0; d < std::min(a.offsets.size(), b.offsets.size()); ++d) {
            if (!a.keeps(d) && !b.keeps(d)) {
                if (domain_.proves_different(a.offsets[d], b.offsets[d])) return true;
                continue;
            }
            const auto span = [&](const Region& r) {
                return r.keeps(d) ? constant_int(k_, r.sizes[d]) : std::optional<int64_t>(1);
            };
            const auto sa = span(a), sb = span(b);
            if (sa && domain_.proves_within(a.offsets[d], *sa, b.offsets[d])) return true;
            if (sb && domain_.proves_within(b.offsets[d], *sb, a.offsets[d])) return true;
        }
        return false;
    }
    bool conflict(const Accesses& before, const Accesses& now) const {
        if (!coalesce_) return !before.empty() && !now.empty();
        for (const Access& a : before)
            for (const Access& b : now)
                if ((a.writes || b.writes) && (a.region.buffer == b.region.buffer
                                                   ? !apart(a.region, b.region)
                                                   : plan_.share_memory(a.region.buffer, b.region.buffer)))
                    return true;
        return false;
    }

    void barrier(Block& out, Accesses& pending, SourceLoc loc) {
        Stmt s;
        s.op = StmtOp::kBarrier;
        s.loc = loc;
        s.compiler_owned = true;
        out.push_back(k_.append(s));
        pending.clear();
    }

    Block block(const Block& body, Accesses& pending) {
        Block out;
        for (const StmtId id : body) {
            const Stmt s = k_[id];
            if (s.op == StmtOp::kBarrier) {
                pending.clear();
                out.push_back(id);
            } else if (s.op == StmtOp::kFor) {
                loop(s, pending, out);
            } else if (s.op == StmtOp::kIf) {
                branch(s, pending, out);
            } else if (s.op != StmtOp::kAlloc) {
                simple(id, pending, out);
            } else {
                out.push_back(id);
            }
        }
        return out;
    }

    void simple(StmtId id, Accesses& pending, Block& out) {
        const Stmt& s = k_[id];
        Accesses now = of(id);
        const auto scratch = plan_.scratch.find(id);
        if (scratch != plan_.scratch.end()) touch(now, whole(k_, scratch->second), true);
        if (conflict(pending, now)) barrier(out, pending, s.loc);
        out.push_back(id);
        if (scratch !=
            plan_.scratch.end()) {  // it has a barrier of its own between writing and reading its scratch
            pending.clear();
            touch(pending, whole(k_, scratch->second), false);
            touch(pending, k_[id].regions[0], true);
            return;
        }
        pending.insert(pending.end(), now.begin(), now.end());
    }

    void branch(const Stmt& s, Accesses& pending, Block& out) {
        Accesses condition;
        touch_loads(condition, s);
        // A barrier that only one side needs would leave the other side's followers to need one more: it goes
        // in front.
        Accesses inside = condition;
        for (const Block* side : {&s.body, &s.otherwise}) {
            walk(k_, *side, [&](StmtId id) {
                for (Access& a : of(id)) inside.push_back(std::move(a));
            });
        }
        if (conflict(pending, inside)) barrier(out, pending, s.loc);
        pending.insert(pending.end(), condition.begin(), condition.end());
        Stmt next = s;
        Accesses other = pending;
        const Domain outside = domain_;
        domain_.assume(s.exprs[0]);
        next.body = block(s.body, pending);
        domain_ = outside;
        next.otherwise = block(s.otherwise, other);
        pending.insert(pending.end(), other.begin(), other.end());
        out.push_back(k_.append(std::move(next)));
    }

    // Accesses seen from after the iteration: `index` stands for the index of the next one (or, with `drop`,
    // is gone).
    Accesses shifted(const Accesses& list, VarId index, bool drop) {
        Substitution back;
        back.vars[index] = sub(k_, var(k_, index), constant(k_, 1));
        Accesses out;
        for (const Access& a : list) {
            const Region moved = back.apply(k_, a.region);
            if (drop && moved != a.region) {
                out.push_back({Region{a.region.buffer, {}, {}}, a.writes});
            } else {
                out.push_back({moved, a.writes});
            }
        }
        return out;
    }

    void loop(const Stmt& s, Accesses& pending, Block& out) {
        Accesses bounds;
        touch_loads(bounds, s);
        if (conflict(pending, bounds)) barrier(out, pending, s.loc);
        pending.insert(pending.end(), bounds.begin(), bounds.end());
        const Domain outside = domain_;
        domain_.bound(s.vars[0], s.exprs[0]);
        Stmt next = s;
        Accesses end;
        constexpr int kRounds =
            3;  // barriers only grow in number, and each round carries accesses once round
        for (int round = 0; round < kRounds; ++round) {
            Accesses start = pending;
            for (Access& a : shifted(end, s.vars[0], false)) start.push_back(std::move(a));
            next.body = block(s.body, start);
            end = std::move(start);
        }
        domain_ = outside;
        for (Access& a : shifted(end, s.vars[0], true)) pending.push_back(std::move(a));
        out.push_back(k_.append(std::move(next)));
    }

    Kernel& k_;
    const Plan& plan_;
    const bool coalesce_;
    Domain domain_;
};

// The whole group is products of one kind on one part of a tensor, in loops of constant length: each
// simdgroup reads and writes a rectangle of its own, each element by the same lane every time, and operands
// are never written. So none has to wait for another.
bool simdgroups_are_independent(const Kernel& k, const Plan& plan) {
    std::optional<Stmt> first;
    std::optional<Partition> partition;
    bool independent = true;
    const auto is_read_only = [&](const Region& r) { return k[r.buffer].role == Role::kIn; };
    walk(k, k.body, [&](StmtId id) {
        const Stmt& s = k[id];
        if (s.op == StmtOp::kFor && s.exprs.size() == 1 && constant_int(k, s.exprs[0])) return;
        const auto gemm = plan.gemms.find(id);
        if (s.op != StmtOp::kGemm || gemm == plan.gemms.end() ||
            gemm->second.path != Path::kDirectCooperative || !is_read_only(s.regions[1]) ||
            !is_read_only(s.regions[2])) {
            independent = false;
            return;
        }
        if (!first) first = s, partition = gemm->second.partition;
        independent &= s.regions[0] == first->regions[0] && gemm->second.partition == *partition &&
                       s.transpose_a == first->transpose_a && s.transpose_b == first->transpose_b &&
                       k[s.regions[1].buffer].type == k[first->regions[1].buffer].type &&
                       k[s.regions[2].buffer].type == k[first->regions[2].buffer].type;
    });
    return independent && first;
}

}  // namespace

Result<Kernel> insert_barriers(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    plan.independent_simdgroups = simdgroups_are_independent(k, plan);
    if (options.elide_independent_barriers && plan.independent_simdgroups) return out;
    Synchronisation(out, plan, options.coalesce_barriers).run();
    return out;
}

}  // namespace ingot::tile
