#include "tile/passes/rewrite.h"

#include "tile/ir/build.h"

namespace ingot::tile {

ExprId Substitution::apply(Kernel& k, ExprId id) const {
    if (!id.valid()) return id;
    const Expr e = k[id];
    if (e.op == ExprOp::kVar) {
        const auto it = vars.find(VarId(e.ref));
        return it == vars.end() ? id : it->second;
    }
    if (e.op == ExprOp::kDim) {
        const auto it = dims.find(DimId(e.ref));
        return it == dims.end() ? id : it->second;
    }
    if (e.args.empty()) return id;
    std::vector<ExprId> args;
    for (const ExprId a : e.args) args.push_back(apply(k, a));
    if (e.op == ExprOp::kLoad) {
        const auto it = buffers.find(BufferId(e.ref));
        return load(k, it == buffers.end() ? BufferId(e.ref) : it->second, args);
    }
    if (args == e.args) return id;
    if (e.op == ExprOp::kCast) return cast(k, args[0], e.type);
    if (e.op == ExprOp::kBits) return bits(k, args[0], e.type);
    return tile::apply(k, e.op, args);
}

Region Substitution::apply(Kernel& k, const Region& r) const {
    const auto it = buffers.find(r.buffer);
    Region out{it == buffers.end() ? r.buffer : it->second, {}, {}};
    for (const ExprId e : r.offsets) out.offsets.push_back(apply(k, e));
    for (const ExprId e : r.sizes) out.sizes.push_back(apply(k, e));
    return out;
}

StmtId Substitution::apply(Kernel& k, StmtId id) const {
    Stmt s = k[id];
    for (Region& r : s.regions) r = apply(k, r);
    for (ExprId& e : s.exprs) e = apply(k, e);
    if (s.op == StmtOp::kAlloc) {
        const auto it = buffers.find(s.buffer);
        if (it != buffers.end()) s.buffer = it->second;
    }
    s.body = apply(k, s.body);
    s.otherwise = apply(k, s.otherwise);
    return k.append(std::move(s));
}

Block Substitution::apply(Kernel& k, const Block& b) const {
    Block out;
    for (const StmtId s : b) out.push_back(apply(k, s));
    return out;
}

Block rebuild(Kernel& k, const Block& body, const Change& change) {
    Block out;
    for (StmtId id : body) {
        const Block then = rebuild(k, Block(k[id].body), change);
        const Block otherwise = rebuild(k, Block(k[id].otherwise), change);
        if (then != k[id].body || otherwise != k[id].otherwise) {
            Stmt s = k[id];
            s.body = then;
            s.otherwise = otherwise;
            id = k.append(std::move(s));
        }
        change(k, id, out);
    }
    return out;
}

void walk(const Kernel& k, const Block& body, const std::function<void(StmtId)>& visit) {
    for (const StmtId id : body) {
        visit(id);
        walk(k, k[id].body, visit);
        walk(k, k[id].otherwise, visit);
    }
}

void walk_ops(const Kernel& k, ExprId e, ExprOp op, const std::function<void(const Expr&)>& visit) {
    if (!e.valid()) return;
    if (k[e].op == op) visit(k[e]);
    for (const ExprId a : k[e].args) walk_ops(k, a, op, visit);
}

std::vector<ExprId> expressions(const Stmt& s) {
    std::vector<ExprId> out = s.exprs;
    for (const Region& r : s.regions) {
        out.insert(out.end(), r.offsets.begin(), r.offsets.end());
        for (const ExprId e : r.sizes)
            if (e.valid()) out.push_back(e);
    }
    return out;
}

bool mentions(const Kernel& k, const Stmt& s, BufferId b) {
    for (const Region& r : s.regions)
        if (r.buffer == b) return true;
    bool found = false;
    for (const ExprId e : expressions(s))
        walk_loads(k, e, [&](const Expr& l) { found |= l.ref == b.index(); });
    return found;
}

}  // namespace ingot::tile
