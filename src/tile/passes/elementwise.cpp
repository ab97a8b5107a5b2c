#include "tile/passes/elementwise.h"

#include <span>

#include "tile/passes/rewrite.h"

namespace ingot::tile {

bool touches(const Kernel& k, const Stmt& loop, BufferId b) {
    bool found = false;
    walk(k, loop.body, [&](StmtId id) { found |= mentions(k, k[id], b); });
    return found;
}

std::string why_not_elementwise(const Kernel& k, const Stmt& loop, BufferId b) {
    if (!touches(k, loop, b)) return {};
    const auto is_var = [&](ExprId e, VarId v) { return k[e].op == ExprOp::kVar && VarId(k[e].ref) == v; };
    bool own_place = true;
    const auto check = [&](std::span<const ExprId> at) {
        own_place &= loop.vars.size() == 2 && at.size() == 2 && is_var(at[0], loop.vars[0]) &&
                     is_var(at[1], loop.vars[1]);
    };
    walk(k, loop.body, [&](StmtId id) {
        const Stmt& s = k[id];
        for (const Region& r : s.regions) {
            if (r.buffer != b) continue;
            own_place &= s.op == StmtOp::kStore;
            check(r.offsets);
        }
        for (const ExprId e : expressions(s))
            walk_loads(k, e, [&](const Expr& l) {
                if (l.ref == b.index()) check(l.args);
            });
    });
    if (has_shuffle(k, loop.body)) return "a shuffle spreads its elements another way";
    if (!own_place) return "an element is used away from its own place";
    if (loop.exprs[0] != k[b].shape[0] || loop.exprs[1] != k[b].shape[1]) return "a loop covers a part of it";
    return {};
}

}  // namespace ingot::tile
