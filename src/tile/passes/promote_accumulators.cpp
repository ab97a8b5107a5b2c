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

std::vector<StmtId> statements_with(const Kernel& k, const Block& body, BufferId b) {
    std::vector<StmtId> out;
    walk(k, body, [&](StmtId id) {
        if (mentions(k, k[id], b)) out.push_back(id);
    });
    return out;
}

bool contains(const Kernel& k, const Block& body, StmtId wanted) {
    bool found = false;
    walk(k, body, [&](StmtId id) { found |= id == wanted; });
    return found;
}

class AccumulatorAudit {
  public:
    AccumulatorAudit(const Kernel& k, StmtId gemm) : k_(k), gemm_(gemm), s_(k[gemm]) {}

    AccumulatorProof run() {
        proof_.accumulator = s_.regions[0].buffer;
        proof_.not_resident = why_not_resident();
        proof_.not_direct = proof_.not_resident.empty() ? why_not_direct() : proof_.not_resident;
        return proof_;
    }

  private:
    std::string by(StmtId id) const {
        return fmt::format("{} ({})", facts(k_[id].op).keyword, k_.where(k_[id].loc));
    }

    // The blocks from the kernel's down to the product's, and the statements that lead there.
    void find_chain(const Block& b) {
        blocks_.push_back(&b);
        for (const StmtId id : b) {
            if (id == gemm_) return;
            for (const Block* inner : {&k_[id].body, &k_[id].otherwise}) {
                if (!contains(k_, *inner, gemm_)) continue;
                around_.push_back(id);
                return find_chain(*inner);
            }
        }
    }

    std::string why_not_resident() {
        const Buffer& c = k_[proof_.accumulator];
        if (c.scope != Scope::kShared) return "it isn't in shared memory";
        if (!is_whole(k_, s_.regions[0])) return "its product is of a part of it";
        if (c.type != DType::kF32) return fmt::format("it is {}: each step rounds it", name(c.type));
        if (s_.clear) return "each step overwrites it";
        find_chain(k_.body);
        if (around_.empty()) return "no loop repeats its product";
        if (k_[around_.back()].op != StmtOp::kFor) return "a branch decides whether its product runs";
        find_carry(*blocks_.back());
        if (multiplicand_) return "what it is carried in is also a multiplicand of its product";
        size_t level = around_.size();
        while (level > 0 && k_[around_[level - 1]].op == StmtOp::kFor &&
               alone_in(k_[around_[level - 1]].body))
            proof_.loop = around_[--level];
        if (!proof_.loop.valid()) return fmt::format("{} in the loop touches it, too", by(other_));
        block_ = blocks_[level];
        if (!filled_before(level)) return "nothing fills it before the loop";
        return {};
    }

    // Is the product, with the copies of its carry, the only one in the block to touch the accumulator?
    bool alone_in(const Block& body) {
        for (const BufferId b : {proof_.accumulator, proof_.carry}) {
            if (!b.valid()) continue;
            for (const StmtId id : statements_with(k_, body, b)) {
                if (id == gemm_ || id == proof_.carry_in || id == proof_.carry_out) continue;
                if (!other_.valid()) other_ = id;
                return false;
            }
        }
        return true;
    }

    // D = C; D += A @ B; C = D in one block, D used nowhere else.
    void find_carry(const Block& b) {
        const BufferId d = s_.regions[0].buffer;
        StmtId in, out;
        bool after = false;
        for (const StmtId id : b) {
            const Stmt& c = k_[id];
            after |= id == gemm_;
            if (c.op != StmtOp::kCopy || !is_whole(k_, c.regions[0]) || !is_whole(k_, c.regions[1])) continue;
            if (!after && c.regions[0].buffer == d) in = id;
            if (after && c.regions[1].buffer == d && !out.valid()) out = id;
        }
        if (!in.valid() || !out.valid() || k_[in].regions[1].buffer != k_[out].regions[0].buffer) return;
        const BufferId c = k_[in].regions[1].buffer;
        if (k_[c].scope != Scope::kShared || k_[c].type != DType::kF32 || k_[c].shape != k_[d].shape) return;
        for (const size_t operand : {size_t{1}, size_t{2}}) {
            if (s_.regions[operand].buffer == c) {
                multiplicand_ = true;
                return;
            }
        }
        if (statements_with(k_, k_.body, d).size() != 3) return;
        proof_.carry = d, proof_.accumulator = c;
        proof_.carry_in = in, proof_.carry_out = out;
    }

    bool filled_before(size_t level) const {
        for (size_t l = 0; l <= level; ++l) {
            const StmtId stop = l < around_.size() ? around_[l] : gemm_;
            for (const StmtId id : *blocks_[l]) {
                if (id == stop) break;
                const Stmt& s = k_[id];
                if ((s.op == StmtOp::kFill || s.op == StmtOp::kCopy) &&
                    s.regions[0].buffer == proof_.accumulator && is_whole(k_, s.regions[0]))
                    return true;
            }
        }
        return false;
    }

    std::string why_not_direct() {
        bool after = false;
        for (const StmtId id : statements_with(k_, k_.body, proof_.accumulator)) {
            const Stmt& s = k_[id];
            if (id == gemm_ || id == proof_.carry_in || id == proof_.carry_out) {
                after = true;
                continue;
            }
            const bool here = std::ranges::find(*block_, id) != block_->end();
            if (!after && here && s.op == StmtOp::kFill && is_whole(k_, s.regions[0]) &&
                k_[s.exprs[0]].op == ExprOp::kConst && !proof_.initializer.valid()) {
                proof_.initializer = id;
            } else if (after && here && s.op == StmtOp::kCopy && s.regions[1].buffer == proof_.accumulator &&
                       is_whole(k_, s.regions[1]) && k_[s.regions[0].buffer].scope == Scope::kGlobal &&
                       !proof_.sink.valid()) {
                proof_.sink = id;
            } else {
                return fmt::format("{} touches it, too", by(id));
            }
        }
        if (!proof_.initializer.valid()) return "it doesn't start as a literal";
        if (!proof_.sink.valid()) return "nothing copies it to a tensor";
        return {};
    }

    const Kernel& k_;
    const StmtId gemm_;
    const Stmt& s_;
    AccumulatorProof proof_;
    std::vector<const Block*> blocks_;
    std::vector<StmtId> around_;
    const Block* block_ = nullptr;  // that the outermost loop stands in
    StmtId other_;
    bool multiplicand_ = false;
};

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
        const AccumulatorProof proof = prove_accumulator(k_, gemm);
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
        if (id == proof.carry_in || id == proof.carry_out) return;
        if (s.op == StmtOp::kAlloc && proof.carry.valid() && s.buffer == proof.carry) return;
        if (s.op == StmtOp::kAlloc && s.buffer == c && direct) {
            out.push_back(k_.append(alloc(f, s.loc)));
            return;
        }
        if (s.op == StmtOp::kGemm && s.product == number) {
            Stmt g = s;
            g.regions[0] = whole(k_, f);
            out.push_back(k_.append(std::move(g)));
            return;
        }
        if (direct && (id == proof.initializer || id == proof.sink)) {
            Stmt moved = s;
            moved.regions[id == proof.sink] = whole(k_, f);
            out.push_back(k_.append(std::move(moved)));
            return;
        }
        const bool loop = s.op == StmtOp::kFor && s.loc.line == k_[proof.loop].loc.line &&
                          s.vars[0] == k_[proof.loop].vars[0];
        if (!loop || direct) {
            out.push_back(id);
            return;
        }
        out.push_back(k_.append(alloc(f, s.loc)));
        out.push_back(copy(f, c, s.loc));
        out.push_back(id);
        out.push_back(copy(c, f, s.loc));
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

AccumulatorProof prove_accumulator(const Kernel& k, StmtId gemm) {
    return AccumulatorAudit(k, gemm).run();
}

Result<Kernel> promote_accumulators(const Kernel& k, const PlanOptions& options, Plan& plan) {
    Kernel out = k;
    Promotion(out, options, plan).run();
    return out;
}

}  // namespace ingot::tile
