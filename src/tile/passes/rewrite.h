// What passes share to make a new kernel from an old one: substitution in expressions, and rebuilding of
// blocks.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>

#include "tile/ir/ir.h"

namespace ingot::tile {

// Replaces leaves (variables, dims) and the buffers of loads. The new expressions go into `k`.
struct Substitution {
    std::map<VarId, ExprId> vars;
    std::map<DimId, ExprId> dims;
    std::map<BufferId, BufferId> buffers;

    ExprId apply(Kernel& k, ExprId e) const;
    Region apply(Kernel& k, const Region& r) const;
    // A copy of the statement and of all below it.
    StmtId apply(Kernel& k, StmtId s) const;
    Block apply(Kernel& k, const Block& b) const;
};

// Rebuilds `body` from the inside out: `change` sees each statement with its blocks already rebuilt and
// appends what stands in its place to `out`. Statements it passes on unchanged keep their ids.
using Change = std::function<void(Kernel& k, StmtId id, Block& out)>;
Block rebuild(Kernel& k, const Block& body, const Change& change);

// Calls `visit` for each statement of the block and below, outer ones first.
void walk(const Kernel& k, const Block& body, const std::function<void(StmtId)>& visit);
// Calls `visit` for each node of the expression that is an `op`.
void walk_ops(const Kernel& k, ExprId e, ExprOp op, const std::function<void(const Expr&)>& visit);
inline void walk_loads(const Kernel& k, ExprId e, const std::function<void(const Expr&)>& visit) {
    walk_ops(k, e, ExprOp::kLoad, visit);
}
// All expressions of one statement (not of its blocks): regions' offsets and sizes, and values.
std::vector<ExprId> expressions(const Stmt& s);
// Whether a region or a load of the statement itself (not of its blocks) is of the buffer.
bool mentions(const Kernel& k, const Stmt& s, BufferId b);

}  // namespace ingot::tile
