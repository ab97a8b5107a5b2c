#include "tile/passes/accumulators.h"

#include <algorithm>

#include "base/result.h"
#include "tile/passes/elementwise.h"
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
    AccumulatorAudit(const Kernel& k, StmtId gemm, bool epilogues)
        : k_(k), gemm_(gemm), s_(k[gemm]), epilogues_(epilogues) {}

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
        if (!proof_.carry.valid() && !multiplicand_) find_published(*blocks_.back());
        if (multiplicand_) return "what it is carried in is also a multiplicand of its product";
        size_t level = around_.size();
        while (level > 0 && k_[around_[level - 1]].op == StmtOp::kFor &&
               alone_in(k_[around_[level - 1]].body))
            proof_.loop = around_[--level];
        if (!proof_.loop.valid()) return fmt::format("{} in the loop touches it, too", by(other_));
        block_ = blocks_[level];
        if (!filled_before(level)) return "nothing fills it before the loop";
        return proof_.published.valid() ? why_not_published(level) : std::string();
    }

    bool is_of_recurrence(StmtId id) const {
        return id == gemm_ || id == proof_.carry_in || id == proof_.carry_out || id == proof_.publish;
    }

    // Is the product, with the copies of its carry, the only one in the block to touch the accumulator?
    bool alone_in(const Block& body) {
        for (const BufferId b : {proof_.accumulator, proof_.carry, proof_.published}) {
            if (!b.valid()) continue;
            for (const StmtId id : statements_with(k_, body, b)) {
                if (is_of_recurrence(id)) continue;
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

    // D += A @ B; C = D in one block: C is what D is after the last step, if there is one and nothing looks
    // before.
    void find_published(const Block& b) {
        const BufferId d = s_.regions[0].buffer;
        bool after = false;
        for (const StmtId id : b) {
            const Stmt& c = k_[id];
            after |= id == gemm_;
            if (!after || c.op != StmtOp::kCopy || c.regions[1].buffer != d || !is_whole(k_, c.regions[1]) ||
                !is_whole(k_, c.regions[0]))
                continue;
            const Buffer& to = k_[c.regions[0].buffer];
            if (to.scope != Scope::kShared || to.type != DType::kF32 || to.shape != k_[d].shape) continue;
            proof_.published = c.regions[0].buffer, proof_.publish = id;
            return;
        }
    }
    std::string why_not_published(size_t level) const {
        for (size_t l = level; l < around_.size(); ++l)
            if (constant_int(k_, k_[around_[l]].exprs[0]).value_or(0) < 1)
                return "it is handed on in a loop that may not run at all";
        for (const StmtId id : statements_with(k_, k_.body, proof_.accumulator))
            if (!is_of_recurrence(id) && is_after(id))
                return fmt::format("{} after the loop touches it", by(id));
        for (const StmtId id : statements_with(k_, k_.body, proof_.published))
            if (!is_of_recurrence(id) && !is_after(id))
                return fmt::format("{} before the loop touches what it is handed on to", by(id));
        return {};
    }
    // In the program's order, behind the product; those in its loop are known not to be there.
    bool is_after(StmtId wanted) const {
        bool seen = false, after = false;
        walk(k_, k_.body, [&](StmtId id) {
            after |= id == wanted && seen;
            seen |= id == gemm_;
        });
        return after;
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

    // Each use is the fill before or the one sink after the loop, both beside it.
    std::string why_not_direct() {
        bool after = false;
        std::vector<StmtId> uses;
        walk(k_, k_.body, [&](StmtId id) {
            if (mentions(k_, k_[id], proof_.accumulator) ||
                (proof_.published.valid() && mentions(k_, k_[id], proof_.published)))
                uses.push_back(id);
        });
        for (const StmtId id : uses) {
            if (is_of_recurrence(id)) {
                after = true;
                continue;
            }
            const StmtId beside = statement_beside(id);
            if (!after && beside == id && is_initializer(k_[id])) {
                proof_.initializer = id;
            } else if (std::string why = after ? why_no_sink(beside, id) : "not a literal fill";
                       why.empty()) {
                proof_.sink = beside;
            } else {
                return fmt::format("{} touches it, too{}", by(id), why.starts_with("(") ? " " + why : "");
            }
        }
        if (!proof_.initializer.valid()) return "it doesn't start as a literal";
        if (!proof_.sink.valid()) return "nothing copies it to a tensor";
        return {};
    }

    // The statement of the loop's block that is `id`, or an element loop with it; none if it is elsewhere.
    StmtId statement_beside(StmtId id) const {
        for (const StmtId top : *block_)
            if (top == id || (k_[top].op == StmtOp::kParallel && contains(k_, k_[top].body, id))) return top;
        return {};
    }
    bool is_initializer(const Stmt& s) const {
        return s.op == StmtOp::kFill && is_whole(k_, s.regions[0]) && k_[s.exprs[0]].op == ExprOp::kConst &&
               !proof_.initializer.valid();
    }
    // Empty: it is one. In parentheses: what is worth saying.
    std::string why_no_sink(StmtId beside, StmtId id) const {
        if (!beside.valid()) return "not beside the loop";
        if (proof_.sink.valid()) return proof_.sink == beside ? "" : "one more";
        const Stmt& s = k_[beside];
        const bool of_it = beside != id || (s.op == StmtOp::kCopy && is_whole(k_, s.regions[1]) &&
                                            k_[s.regions[0].buffer].scope == Scope::kGlobal);
        if (!of_it) return "no copy of it to a tensor";
        if (beside == id) return {};
        for (const BufferId b : {proof_.accumulator, proof_.published})
            if (b.valid())
                if (const std::string why = why_not_elementwise(k_, s, b); !why.empty())
                    return fmt::format("({})", why);
        return epilogues_ ? "" : "(the option fuse_matrix_epilogues is off)";
    }

    const Kernel& k_;
    const StmtId gemm_;
    const Stmt& s_;
    const bool epilogues_;
    AccumulatorProof proof_;
    std::vector<const Block*> blocks_;
    std::vector<StmtId> around_;
    const Block* block_ = nullptr;  // that the outermost loop stands in
    StmtId other_;
    bool multiplicand_ = false;
};

}  // namespace

AccumulatorProof prove_accumulator(const Kernel& k, StmtId gemm, bool epilogues) {
    return AccumulatorAudit(k, gemm, epilogues).run();
}

}  // namespace ingot::tile
