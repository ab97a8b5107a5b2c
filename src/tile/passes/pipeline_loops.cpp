// for k < n pipelined(S) { copy T = SRC(k); rest }  becomes
//   T of S versions;  for s < S - 1: if s < n: copy T[s] = SRC(s)
//   for k < n { if k + S - 1 < n { copy T[(k + S - 1) % S] = SRC(k + S - 1) }; rest on T[k % S] }
// which needs one barrier a step instead of two.
#include <set>

#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

size_t count_mentions(const Kernel& k, const Block& body, BufferId b) {
    size_t n = 0;
    walk(k, body, [&](StmtId id) { n += mentions(k, k[id], b); });
    return n;
}

bool uses_var(const Kernel& k, ExprId e, const std::set<VarId>& vars) {
    if (!e.valid()) return false;
    if (k[e].op == ExprOp::kVar && vars.contains(VarId(k[e].ref))) return true;
    for (const ExprId a : k[e].args)
        if (uses_var(k, a, vars)) return true;
    return false;
}

class Pipelining {
  public:
    Pipelining(Kernel& k, const PlanOptions& options, Plan& plan) : k_(k), options_(options), plan_(plan) {}

    void run() {
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel&, StmtId id, Block& out) {
            if (k_[id].op != StmtOp::kFor || k_[id].loop != LoopKind::kPipelined) {
                out.push_back(id);
                return;
            }
            loop(id, out);
        });
        if (versions_.empty()) return;
        // Allocations of what now has versions.
        Substitution grown;
        for (const auto& [old_id, new_id] : versions_) grown.buffers[old_id] = new_id;
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel& k, StmtId id, Block& out) {
            const bool changes = k[id].op == StmtOp::kAlloc && grown.buffers.contains(k[id].buffer);
            out.push_back(changes ? grown.apply(k, id) : id);
        });
    }

  private:
    // A tile that one leading copy of the loop fills whole from a tensor nobody writes, and that nothing
    // outside of the loop touches.
    bool can_prefetch(const Stmt& loop, StmtId id) const {
        const Stmt& s = k_[id];
        if (s.op != StmtOp::kCopy || !is_whole(k_, s.regions[0])) return false;
        const BufferId tile = s.regions[0].buffer, source = s.regions[1].buffer;
        if (k_[tile].scope != Scope::kShared || k_[source].role != Role::kIn) return false;
        std::set<VarId> inner;  // lets and carried values of the loop are not known ahead
        walk(k_, loop.body, [&](StmtId i) { inner.insert(k_[i].vars.begin(), k_[i].vars.end()); });
        for (size_t i = 1; i < loop.vars.size(); ++i) inner.insert(loop.vars[i]);
        for (const ExprId e : expressions(s))
            if (uses_var(k_, e, inner)) return false;
        size_t writes = 0;
        walk(k_, loop.body, [&](StmtId i) {
            for (size_t r = 0; r < k_[i].regions.size(); ++r)
                writes += k_[i].regions[r].buffer == tile && access(k_[i], r) != 'r';
        });
        return writes == 1 && count_mentions(k_, loop.body, tile) == count_mentions(k_, k_.body, tile);
    }

    int64_t shared_bytes() const {
        int64_t bytes = 0;
        walk(k_, k_.body, [&](StmtId i) {
            if (k_[i].op == StmtOp::kAlloc && k_[k_[i].buffer].scope == Scope::kShared)
                bytes += allocation_bytes(k_, k_[i].buffer);
        });
        return bytes + extra_bytes_;
    }

    void loop(StmtId id, Block& out) {
        Stmt serial = k_[id];
        const uint32_t stages = serial.stages;
        serial.loop = LoopKind::kSerial;
        serial.stages = 0;
        std::vector<StmtId> ahead;
        for (const StmtId s : serial.body) {
            if (!can_prefetch(serial, s)) break;
            ahead.push_back(s);
        }
        int64_t extra = 0;
        for (const StmtId s : ahead) extra += allocation_bytes(k_, k_[s].regions[0].buffer) * (stages - 1);
        // An eighth is left for padding.
        const bool fits = (shared_bytes() + extra) * 9 / 8 <= int64_t(options_.target->threadgroup_bytes);
        const auto steps = constant_int(k_, serial.exprs[0]);
        const bool few = steps && *steps < int64_t(stages);
        if (!options_.pipeline_loops || stages < 2 || few || ahead.empty() || !fits) {
            plan_.notes.push_back(fmt::format(
                "{}: the loop isn't pipelined: {}", k_.where(serial.loc),
                !options_.pipeline_loops ? "the options say so"
                : stages < 2             ? "it asks for one stage"
                : few                    ? "it has fewer steps than stages"
                : ahead.empty() ? "its body doesn't start with copies of an input to shared tiles of "
                                  "its own"
                                : "more versions of its tiles don't fit"));
            out.push_back(k_.append(std::move(serial)));
            return;
        }
        extra_bytes_ += extra;
        transform(std::move(serial), stages, ahead, out);
    }

    BufferId with_versions(BufferId old_id, uint32_t stages) {
        Buffer b = k_[old_id];
        b.shape.insert(b.shape.begin(), constant(k_, stages));
        const BufferId id = k_.append(std::move(b));
        versions_[old_id] = id;
        return id;
    }

    // The statement with tile T replaced by its version `which`.
    StmtId on_version(StmtId id, const std::map<BufferId, BufferId>& tiles, ExprId which) {
        Stmt s = k_[id];
        for (Region& r : s.regions) {
            const auto it = tiles.find(r.buffer);
            if (it == tiles.end()) continue;
            r.buffer = it->second;
            r.offsets.insert(r.offsets.begin(), which);
            r.sizes.insert(r.sizes.begin(), ExprId());
        }
        for (ExprId& e : s.exprs) e = on_version(e, tiles, which);
        for (Region& r : s.regions)
            for (ExprId& e : r.offsets) e = on_version(e, tiles, which);
        for (StmtId& inner : s.body) inner = on_version(inner, tiles, which);
        for (StmtId& inner : s.otherwise) inner = on_version(inner, tiles, which);
        return k_.append(std::move(s));
    }
    ExprId on_version(ExprId id, const std::map<BufferId, BufferId>& tiles, ExprId which) {
        Expr e = k_[id];
        if (e.args.empty()) return id;
        for (ExprId& a : e.args) a = on_version(a, tiles, which);
        const auto it = e.op == ExprOp::kLoad ? tiles.find(BufferId(e.ref)) : tiles.end();
        if (it != tiles.end()) {
            e.ref = it->second.index();
            e.args.insert(e.args.begin(), which);
        }
        return k_.intern(std::move(e));
    }

    // if step < n { copies of `step` into version `which` }
    StmtId guarded_copies(const std::vector<StmtId>& copies, const std::map<BufferId, BufferId>& tiles,
                          VarId index, ExprId step, ExprId which, ExprId n) {
        Substitution at;
        at.vars[index] = step;
        Stmt guard;
        guard.op = StmtOp::kIf;
        guard.loc = k_[copies[0]].loc;
        guard.compiler_owned = true;
        guard.exprs = {apply(k_, ExprOp::kLt, std::array{step, n})};
        for (const StmtId c : copies) guard.body.push_back(on_version(at.apply(k_, c), tiles, which));
        return k_.append(std::move(guard));
    }

    void transform(Stmt loop, uint32_t stages, const std::vector<StmtId>& ahead, Block& out) {
        std::map<BufferId, BufferId> tiles;
        for (const StmtId s : ahead) {
            const BufferId tile = k_[s].regions[0].buffer;
            tiles[tile] = with_versions(tile, stages);
        }
        const VarId index = loop.vars[0];
        const ExprId n = loop.exprs[0], at = var(k_, index), count = constant(k_, stages);
        for (uint32_t s = 0; s + 1 < stages; ++s) {
            const ExprId step = constant(k_, s);
            out.push_back(guarded_copies(ahead, tiles, index, step, step, n));
        }
        const ExprId next = add(k_, at, constant(k_, stages - 1));
        const ExprId next_version = apply(k_, ExprOp::kMod, std::array{next, count});
        const ExprId version = apply(k_, ExprOp::kMod, std::array{at, count});
        Block body = {guarded_copies(ahead, tiles, index, next, next_version, n)};
        for (size_t i = ahead.size(); i < loop.body.size(); ++i)
            body.push_back(on_version(loop.body[i], tiles, version));
        loop.body = std::move(body);
        plan_.notes.push_back(fmt::format("{}: the loop copies {} steps ahead into {} versions of its tiles",
                                          k_.where(loop.loc), stages - 1, stages));
        out.push_back(k_.append(std::move(loop)));
    }

    Kernel& k_;
    const PlanOptions& options_;
    Plan& plan_;
    std::map<BufferId, BufferId> versions_;
    int64_t extra_bytes_ = 0;
};

}  // namespace

Result<Kernel> pipeline_loops(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    Pipelining(out, options, plan).run();
    return out;
}

}  // namespace ingot::tile
