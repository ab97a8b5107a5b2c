// A product whose operands were only staged reads the tensors instead:
//   copy T = S[...];  gemm C += T @ ...   becomes   gemm C += S[...] @ ...
// A copy is a snapshot. Reading its source is the same if the source is never written, the elements copied
// are used as they are, and the product is the only reader. What is left of a loop over steps of K, one
// product, then becomes a product over all of K. So does a loop whose last step fills in zeros past the end
// of K in both operands alike: zeros times zeros add nothing. (Zeros on one side alone would make NaN of the
// other side's Inf.) A tile that only hands a snapshot on to another one goes, too, round by round until none
// is left. What is forwarded on the promise of a proof that then fails is taken back. A product that keeps
// its staging says why.
#include <cmath>
#include <set>

#include "tile/ir/build.h"
#include "tile/passes/passes.h"
#include "tile/passes/paths.h"
#include "tile/passes/rewrite.h"
#include "tile/proof/domain.h"

namespace ingot::tile {
namespace {

// How often a tile is mentioned, and by what it is written.
struct Uses {
    size_t statements = 0;
    std::vector<StmtId> writers;
};

// Products, as the program has them, whose staging stays wherever it fills in what isn't there: tried
// otherwise, and why that came to nothing.
using Strict = std::map<StmtId, std::string>;

class Bypass {
  public:
    Bypass(Kernel& k, const PlanOptions& options, Plan& plan, const Strict& strict)
        : k_(k), options_(options), plan_(plan), strict_(strict) {}

    void run() {
        while (note_all_uses(), hand_on_one(k_.body)) {
        }
        k_.body = block(k_.body);
        if (!gone_.empty()) fold_loops();
        for (const BufferId tile : gone_) plan_.forwarded_bytes += allocation_bytes(k_, tile);
    }

    // Products that read past the end of K after all.
    Strict unproved() const {
        Strict out;
        for (const auto& [now, before] : bounded_) out[before] = "the steps of K aren't one product";
        return out;
    }

  private:
    void note_all_uses() {
        uses_.clear();
        walk(k_, k_.body, [&](StmtId id) { note_uses(id); });
    }

    // copy T = S[...]; copy U = T  becomes  copy U = S[...], where nothing else uses T.
    bool hand_on_one(const Block& body) {
        for (size_t i = 0; i < body.size(); ++i) {
            const Stmt s = k_[body[i]];
            if (hand_on_one(s.body) || hand_on_one(s.otherwise)) return true;
            StmtId first;
            if (s.op != StmtOp::kCopy || !hands_on(body, i, first)) continue;
            const Stmt source = k_[first];
            const BufferId tile = s.regions[1].buffer;
            Stmt direct = s;
            direct.regions[1] = through(s.regions[1], source.regions[1]);
            direct.exprs = source.exprs;
            plan_.notes.push_back(fmt::format("{}: {} only handed {} on to {}", k_.where(s.loc),
                                              k_[tile].name, k_[source.regions[1].buffer].name,
                                              k_[s.regions[0].buffer].name));
            plan_.forwarded_bytes += allocation_bytes(k_, tile);
            const StmtId second = body[i];  // `body` may go with the rebuilt one
            const StmtId replaced = k_.append(std::move(direct));
            k_.body = rebuild(k_, Block(k_.body), [&](Kernel&, StmtId id, Block& out) {
                if (id == first || (k_[id].op == StmtOp::kAlloc && k_[id].buffer == tile)) return;
                out.push_back(id == second ? replaced : id);
            });
            return true;
        }
        return false;
    }
    bool hands_on(const Block& body, size_t at, StmtId& first) const {
        const Stmt& s = k_[body[at]];
        const BufferId tile = s.regions[1].buffer;
        if (k_[tile].scope != Scope::kShared || k_[s.regions[0].buffer].scope != Scope::kShared) return false;
        const Uses& u = uses_.at(tile);
        if (u.writers.size() != 1 || u.statements != 2) return false;
        first = u.writers[0];
        const Stmt& source = k_[first];
        if (source.op != StmtOp::kCopy || !is_whole(k_, source.regions[0])) return false;
        if (std::find(body.begin(), body.begin() + ptrdiff_t(at), first) == body.begin() + ptrdiff_t(at))
            return false;
        const Buffer& tensor = k_[source.regions[1].buffer];
        bool reads = false;
        for (const StmtId id : {first, body[at]})
            for (const ExprId e : expressions(k_[id])) walk_loads(k_, e, [&](const Expr&) { reads = true; });
        return !reads && tensor.role == Role::kIn && tensor.type == k_[tile].type;
    }

    void note_uses(StmtId id) {
        const Stmt& s = k_[id];
        std::set<BufferId> touched;
        for (size_t i = 0; i < s.regions.size(); ++i) {
            touched.insert(s.regions[i].buffer);
            if (access(s, i) != 'r') uses_[s.regions[i].buffer].writers.push_back(id);
        }
        for (const ExprId e : expressions(s))
            walk_loads(k_, e, [&](const Expr& l) { touched.insert(BufferId(l.ref)); });
        for (const BufferId b : touched) ++uses_[b].statements;
    }

    Block block(const Block& body) {
        Block out = body;
        for (size_t i = 0; i < out.size(); ++i) {
            if (k_[out[i]].op == StmtOp::kGemm) {
                product(out, i);
                continue;
            }
            Stmt s = k_[out[i]];
            const Block then = block(s.body), otherwise = block(s.otherwise);
            if (then == s.body && otherwise == s.otherwise) continue;
            s.body = then, s.otherwise = otherwise;
            out[i] = k_.append(std::move(s));
        }
        // Copies in front of a product and allocations anywhere go last, so that `i` counts.
        std::erase_if(out, [&](StmtId id) {
            const Stmt& s = k_[id];
            return (s.op == StmtOp::kAlloc && gone_.contains(s.buffer)) ||
                   (s.op == StmtOp::kCopy && gone_.contains(s.regions[0].buffer));
        });
        return out;
    }

    void product(Block& b, size_t at) {
        const Stmt s = k_[b[at]];
        std::vector<size_t> staged;
        for (const size_t operand : {size_t{1}, size_t{2}})
            if (k_[s.regions[operand].buffer].scope == Scope::kShared) staged.push_back(operand);
        if (staged.empty()) return;
        Stmt direct = s;
        BufferId filled;  // a tile whose copy fills in what lies past an edge
        for (const size_t operand : staged) {
            const BufferId tile = s.regions[operand].buffer;
            StmtId copy;
            if (const std::string why = why_kept(b, at, tile, copy); !why.empty()) return keep(s, tile, why);
            if (!inside(k_[copy].regions[1])) {
                if (!options_.bounded_views) return keep(s, tile, past_edge(copy));
                if (!fills_zeros(k_[copy]))
                    return keep(s, tile, past_edge(copy) + " with another number than 0");
                if (const auto tried = strict_.find(b[at]); tried != strict_.end())
                    return keep(s, tile, past_edge(copy) + ": " + tried->second);
                filled = tile;
            }
            direct.regions[operand] = through(s.regions[operand], k_[copy].regions[1]);
        }
        const bool bounded = filled.valid() && ends_alike(direct);
        Stmt probe = direct;
        if (bounded) take_all_of_k(probe);
        const auto plan = choose_path(k_, probe, options_);
        const auto stay = [&](const std::string& why) {
            if (!filled.valid()) return keep(s, {}, why);
            keep(s, filled, past_edge(uses_.at(filled).writers[0]) + ": " + why);
        };
        if (!plan) return stay(plan.error().message);
        if (plan->path != Path::kDirectCooperative) return stay(plan->reason);
        std::string names;
        for (const size_t operand : staged) {
            gone_.insert(s.regions[operand].buffer);
            names += (names.empty() ? "" : " and ") + k_[s.regions[operand].buffer].name;
        }
        plan_.notes.push_back(fmt::format(
            "{}: {} only staged its operands: they are read where they come from", k_.where(s.loc), names));
        const StmtId before = b[at];
        b[at] = k_.append(std::move(direct));
        if (bounded) bounded_[b[at]] = before;
    }

    std::string past_edge(StmtId copy) const {
        return fmt::format("its copy fills in what lies past the edge of {}",
                           k_[k_[copy].regions[1].buffer].name);
    }
    bool fills_zeros(const Stmt& copy) const {
        if (copy.exprs.empty()) return true;
        const Expr& fill = k_[copy.exprs[0]];
        return fill.op == ExprOp::kConst && fill.value == 0 && !std::signbit(fill.value);
    }

    static size_t depth_dim(const Stmt& s, size_t operand) {
        return s.regions[operand].kept()[operand == 1 ? !s.transpose_a : s.transpose_b];
    }
    // Some step may go past the end of K, and does so at one place in both operands.
    bool ends_alike(const Stmt& s) const {
        const Region &a = s.regions[1], &b = s.regions[2];
        const size_t da = depth_dim(s, 1), db = depth_dim(s, 2);
        return !(inside(a, da) && inside(b, db)) && a.offsets[da] == b.offsets[db] &&
               a.sizes[da] == b.sizes[db] && k_[a.buffer].shape[da] == k_[b.buffer].shape[db];
    }
    // As it will be once its loop is folded.
    void take_all_of_k(Stmt& s) {
        for (const size_t operand : {size_t{1}, size_t{2}}) {
            const size_t d = depth_dim(s, operand);
            s.regions[operand].offsets[d] = constant(k_, 0);
            s.regions[operand].sizes[d] = k_[s.regions[operand].buffer].shape[d];
        }
    }

    void keep(const Stmt& s, BufferId tile, const std::string& why) {
        plan_.notes.push_back(fmt::format("{}: {} staged: {}", k_.where(s.loc),
                                          tile.valid() ? k_[tile].name + " stays" : "the operands stay",
                                          why));
    }

    // What the staging of `tile` for the product b[at] means beyond a place to read from; nothing if it is
    // pure.
    std::string why_kept(const Block& b, size_t at, BufferId tile, StmtId& copy) const {
        const Uses& u = uses_.at(tile);
        if (u.writers.size() != 1) return "several statements write it";
        copy = u.writers[0];
        const Stmt& c = k_[copy];
        if (c.op == StmtOp::kParallel || c.op == StmtOp::kStore)
            return "a loop writes its elements: another layout, or other values, than a tensor has";
        if (c.op != StmtOp::kCopy) return fmt::format("it holds what {} computes", facts(c.op).keyword);
        if (!is_whole(k_, c.regions[0])) return "a copy fills a part of it";
        if (u.statements != 2) return "several statements read it";
        const auto before = std::find(b.begin(), b.begin() + ptrdiff_t(at), copy);
        if (before == b.begin() + ptrdiff_t(at)) return "it is copied once for several steps";
        const Region& src = c.regions[1];
        const Buffer& tensor = k_[src.buffer];
        if (tensor.scope != Scope::kGlobal)
            return fmt::format("{} is {}, which other threads write", tensor.name,
                               kScopeNames[size_t(tensor.scope)]);
        if (tensor.role != Role::kIn) return fmt::format("{} may be written", tensor.name);
        if (tensor.type != k_[tile].type)
            return fmt::format("its copy converts {} to {}", name(tensor.type), name(k_[tile].type));
        bool reads = false;
        for (const ExprId e : expressions(c)) walk_loads(k_, e, [&](const Expr&) { reads = true; });
        if (reads) return "its place in the tensor is read from memory";
        return {};
    }

    bool inside(const Region& r) const {
        for (size_t d = 0; d < r.offsets.size(); ++d)
            if (!inside(r, d)) return false;
        return true;
    }
    bool inside(const Region& r, size_t d) const {
        Domain domain(k_);
        domain.bound_grid();
        domain.bound_loops();
        const auto span = r.keeps(d) ? constant_int(k_, r.sizes[d]) : std::optional<int64_t>(1);
        const ExprId limit = k_[r.buffer].shape[d];
        if (constant_int(k_, r.offsets[d]) == 0 && r.sizes[d] == limit) return true;
        return span && domain.proves_non_negative(r.offsets[d]) &&
               domain.proves_within(r.offsets[d], *span, limit);
    }

    // Part `r` of a tile that is a whole copy of `src`, as a part of the tensor.
    Region through(const Region& r, const Region& src) {
        Region out = src;
        size_t i = 0;
        for (const size_t d : src.kept()) {
            out.offsets[d] = add(k_, src.offsets[d], r.offsets[i]);
            out.sizes[d] = r.sizes[i++];
        }
        return out;
    }

    // for k < n { gemm C += A[.., k * s : s] @ B[k * s : s, ..] }  is  gemm C += A[.., 0 : n * s] @ B[0 : n *
    // s, ..]
    void fold_loops() {
        k_.body = rebuild(k_, Block(k_.body), [&](Kernel&, StmtId id, Block& out) {
            const Stmt loop = k_[id];
            const auto folded = loop.op == StmtOp::kFor ? fold(loop) : std::nullopt;
            out.push_back(folded ? *folded : id);
        });
    }

    std::optional<StmtId> fold(const Stmt& loop) {
        if (loop.exprs.size() != 1 || loop.body.size() != 1) return std::nullopt;
        Stmt s = k_[loop.body[0]];
        const bool bounded = bounded_.contains(loop.body[0]);
        if (s.op != StmtOp::kGemm || s.clear) return std::nullopt;
        const VarId v = loop.vars[0];
        Substitution first;
        first.vars[v] = constant(k_, 0);
        if (first.apply(k_, s.regions[0]) != s.regions[0]) return std::nullopt;
        for (const size_t operand : {size_t{1}, size_t{2}}) {
            Region& r = s.regions[operand];
            const size_t d = depth_dim(s, operand);
            const auto step = constant_int(k_, r.sizes[d]);
            if (!step) return std::nullopt;
            const ExprId start = first.apply(k_, r.offsets[d]);
            Domain domain(k_);
            Affine gap = domain.affine(r.offsets[d]);
            for (const auto& [term, factor] : domain.affine(start).terms)
                if ((gap.terms[term] -= factor) == 0) gap.terms.erase(term);
            gap.constant -= domain.affine(start).constant;
            const Affine steps{0, {{var(k_, v), *step}}};
            if (gap != steps) return std::nullopt;
            const ExprId whole_depth = bounded ? steps_past(loop.exprs[0], *step, k_[r.buffer].shape[d])
                                               : all_steps(domain, loop.exprs[0], *step);
            if (!whole_depth.valid() || (bounded && constant_int(k_, start) != 0)) return std::nullopt;
            r.offsets[d] = start;
            r.sizes[d] = whole_depth;
            if (first.apply(k_, r) != r) return std::nullopt;
        }
        const auto plan = choose_path(k_, s, options_);
        if (!plan || plan->path != Path::kDirectCooperative) return std::nullopt;
        plan_.notes.push_back(fmt::format("{}: the loop over K is one product", k_.where(loop.loc)));
        bounded_.erase(loop.body[0]);
        return k_.append(std::move(s));
    }
    // All of K, if so many steps reach its end.
    ExprId steps_past(ExprId n, int64_t step, ExprId depth) const {
        const auto count = constant_int(k_, n), size = constant_int(k_, depth);
        if (count && size) return *count * step >= *size ? depth : ExprId();
        const Expr& e = k_[n];
        const bool covers =
            e.op == ExprOp::kCeilDiv && e.args[0] == depth && constant_int(k_, e.args[1]) == step;
        return covers ? depth : ExprId();
    }
    // n * step, if it has a form that proofs know: a constant, or x where n is x / step without a rest.
    ExprId all_steps(const Domain& domain, ExprId n, int64_t step) {
        if (const auto count = constant_int(k_, n)) return constant(k_, double(*count * step));
        const Expr& e = k_[n];
        const bool divides = (e.op == ExprOp::kCeilDiv || e.op == ExprOp::kDiv) &&
                             constant_int(k_, e.args[1]) == step && domain.divisor(e.args[0]) % step == 0;
        return divides ? e.args[0] : ExprId();
    }

    Kernel& k_;
    const PlanOptions& options_;
    Plan& plan_;
    const Strict& strict_;
    std::map<BufferId, Uses> uses_;
    std::set<BufferId> gone_;
    std::map<StmtId, StmtId> bounded_;  // products that go past the end of K, and what they were
};

}  // namespace

Result<Kernel> bypass_staging(const Kernel& k, const PlanOptions& options, Plan& plan) {
    if (!options.bypass_staging) return k;
    // Each round keeps more of the staging.
    for (Strict strict;;) {
        Kernel out = k;
        Plan tried = plan;
        Bypass bypass(out, options, tried, strict);
        bypass.run();
        const Strict unproved = bypass.unproved();
        if (unproved.empty()) {
            plan = std::move(tried);
            return out;
        }
        strict.insert(unproved.begin(), unproved.end());
    }
}

}  // namespace ingot::tile
