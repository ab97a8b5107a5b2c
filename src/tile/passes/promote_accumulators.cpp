// Rewrites products that accumulate in shared memory into ones that accumulate in a fragment, where that is
// proved to mean the same and the plan wants it:
//   fill C = X; for { ...; gemm C += A @ B }; copy OUT = C
// resident: fill C = X; copy F = C; for { ...; gemm F += A @ B }; copy C = F; copy OUT = C
// direct:   fill F = X;             for { ...; gemm F += A @ B };             copy OUT = F
#include <algorithm>

#include "tile/ir/build.h"
#include "tile/passes/accumulators.h"
#include "tile/passes/passes.h"
#include "tile/passes/paths.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

class Promotion {
  public:
    Promotion(Kernel& k, const PlanOptions& options, Plan& plan) : k_(k), options_(options), plan_(plan) {}

    void run() {
        std::vector<uint32_t> products;
        walk(k_, k_.body, [&](StmtId id) {
            const Stmt& s = k_[id];
            const ProductChoice* choice = s.op == StmtOp::kGemm ? options_.choice(s) : nullptr;
            if (choice != nullptr && choice->accumulator != Accumulator::kShared &&
                k_[s.regions[0].buffer].scope == Scope::kShared)
                products.push_back(s.product);
        });
        // One after the other, found again by number: each rewrites the body.
        for (const uint32_t p : products) promote(p);
    }

  private:
    void promote(uint32_t number) {
        StmtId gemm;
        walk(k_, k_.body, [&](StmtId id) {
            if (k_[id].op == StmtOp::kGemm && k_[id].product == number) gemm = id;
        });
        const AccumulatorProof proof = prove_accumulator(k_, gemm, options_.fuse_epilogues);
        const auto path = choose_path(k_, k_[gemm], options_);
        const bool direct = options_.choice(k_[gemm])->accumulator == Accumulator::kDirect;
        const std::string& why = direct ? proof.not_direct : proof.not_resident;
        if (!why.empty() || !path || path->path != Path::kSimdgroup) return;
        const BufferId c = proof.accumulator;
        Buffer fragment = k_[c];
        fragment.scope = Scope::kFragment;
        fragment.name = k_.fresh_name(fragment.name + "_acc");
        plan_.notes.push_back(fmt::format("{}: {} is accumulated in {}, which {}", k_.where(k_[gemm].loc),
                                          k_[c].name, fragment.name,
                                          direct ? "takes its place" : "is loaded from it and stored to it"));
        const BufferId f = k_.append(std::move(fragment));
        k_.body = rebuild(k_, Block(k_.body),
                          [&](Kernel&, StmtId id, Block& out) { change(proof, number, f, direct, id, out); });
    }

    // `id` may be a rebuilt loop: loops are told by what they hold.
    void change(const AccumulatorProof& proof, uint32_t number, BufferId f, bool direct, StmtId id,
                Block& out) {
        const BufferId c = proof.accumulator;
        const Stmt s = k_[id];
        if (id == proof.carry_in || id == proof.carry_out || id == proof.publish) return;
        const bool is_alloc = s.op == StmtOp::kAlloc;
        if (is_alloc && s.buffer.valid() && (s.buffer == proof.carry || s.buffer == proof.published)) return;
        if (is_alloc && s.buffer == c && direct) {
            out.push_back(k_.append(alloc(f, s.loc)));
            return;
        }
        if (s.op == StmtOp::kGemm && s.product == number) {
            Stmt g = s;
            g.regions[0] = whole(k_, f);
            out.push_back(k_.append(std::move(g)));
            return;
        }
        const bool loop = s.op == StmtOp::kFor && s.loc.line == k_[proof.loop].loc.line &&
                          s.vars[0] == k_[proof.loop].vars[0];
        if (!loop || direct) {
            out.push_back(redirected(proof, direct ? f : c, id));
            return;
        }
        out.push_back(k_.append(alloc(f, s.loc)));
        out.push_back(copy(f, c, s.loc));
        out.push_back(id);
        out.push_back(copy(c, f, s.loc));
    }

    // Other uses of the accumulator, and of what it was handed on to, are of `to`.
    StmtId redirected(const AccumulatorProof& proof, BufferId to, StmtId id) {
        Substitution moved;
        moved.buffers[proof.accumulator] = to;
        if (proof.published.valid()) moved.buffers[proof.published] = to;
        Stmt s = k_[id];
        for (Region& r : s.regions) r = moved.apply(k_, r);
        for (ExprId& e : s.exprs) e = moved.apply(k_, e);
        if (s.regions == k_[id].regions && s.exprs == k_[id].exprs) return id;
        return k_.append(std::move(s));
    }

    static Stmt alloc(BufferId b, SourceLoc loc) {
        Stmt a;
        a.op = StmtOp::kAlloc;
        a.loc = loc;
        a.buffer = b;
        a.compiler_owned = true;
        return a;
    }
    StmtId copy(BufferId to, BufferId from, SourceLoc loc) {
        Stmt s;
        s.op = StmtOp::kCopy;
        s.loc = loc;
        s.regions = {whole(k_, to), whole(k_, from)};
        s.compiler_owned = true;
        return k_.append(std::move(s));
    }

    Kernel& k_;
    const PlanOptions& options_;
    Plan& plan_;
};

}  // namespace

Result<Kernel> promote_accumulators(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    Promotion(out, options, plan).run();
    return out;
}

}  // namespace ingot::tile
