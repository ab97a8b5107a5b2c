#include "tile/plan/workload.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "tile/ir/build.h"
#include "tile/ir/interpret.h"
#include "tile/passes/accumulators.h"
#include "tile/passes/paths.h"
#include "tile/passes/rewrite.h"
#include "tile/plan/legal.h"

namespace ingot::tile {
namespace {

constexpr uint32_t kMatrixSide = 8, kOneOperation = 16;

// Walks a kernel once with the number of times that each statement runs.
class WorkloadReader {
  public:
    WorkloadReader(const Kernel& k, const PlanOptions& options, double assumed)
        : k_(k), scratch_(k), options_(options) {
        for (const Dim& d : k.dims)
            dims_[d.name] = int64_t(std::ceil(assumed / double(d.multiple_of))) * d.multiple_of;
        for (const VarId v : k.grid) first_.vars[v] = constant(scratch_, 0);
    }

    Workload run() {
        for (const ExprId e : k_.grid_extents) out_.group.programs *= value(e);
        block(k_.body, 1);
        for (ProductFacts& p : out_.products) settle(p);
        for (const uint32_t dim : asked_) {
            const std::string& name = k_.dims[dim].name;
            out_.assumed.push_back(fmt::format("{} = {}", name, dims_[name]));
        }
        return std::move(out_);
    }

  private:
    // As for the first group and the first iteration; what depends on memory counts once.
    uint64_t value(ExprId e) {
        const ExprId plain = first_.apply(scratch_, e);
        walk_ops(scratch_, plain, ExprOp::kDim, [&](const Expr& dim) { asked_.insert(dim.ref); });
        const auto n = evaluate_at_launch(scratch_, plain, dims_);
        return n && *n > 0 ? uint64_t(*n) : 1;
    }

    void block(const Block& b, uint64_t times) {
        for (const StmtId id : b) stmt(id, times);
    }

    void stmt(StmtId id, uint64_t times) {
        const Stmt& s = k_[id];
        times_[id] = times;
        uint64_t iterations = 1;
        switch (s.op) {
            case StmtOp::kFor:
                first_.vars[s.vars[0]] = constant(scratch_, 0);
                extents_[s.vars[0]] = constant_int(k_, s.exprs[0]);
                return block(s.body, saturating(times, value(s.exprs[0])));
            case StmtOp::kIf:
                block(s.body, times);
                return block(s.otherwise, times);
            case StmtOp::kGemm:
                return product(id, times);
            case StmtOp::kParallel:
                for (const ExprId e : s.exprs) iterations = saturating(iterations, value(e));
                return count_elements(saturating(iterations, times));
            default:
                if (s.regions.empty()) return;
                return count_elements(saturating(elements(s.regions[0]), times));
        }
    }

    static uint64_t saturating(uint64_t a, uint64_t b) {
        uint64_t out = 0;
        return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
    }
    void count_elements(uint64_t n) {
        uint64_t& total = out_.group.independent_elements;
        if (__builtin_add_overflow(total, n, &total)) total = UINT64_MAX;
    }
    uint64_t elements(const Region& r) {
        uint64_t n = 1;
        for (const size_t d : r.kept()) n = saturating(n, value(r.sizes[d]));
        return n;
    }

    void product(StmtId id, uint64_t times) {
        const Stmt& s = k_[id];
        const auto path = choose_path(k_, s, options_);
        const GemmShape g = shape_of(k_, s);
        const Region& a = s.regions[1];
        const size_t k_dim = a.kept()[s.transpose_a ? 0 : 1];
        const uint64_t depth = value(a.sizes[k_dim]);
        ProductFacts p;
        p.number = s.product, p.stmt = id, p.policy = s.policy;
        p.path = path ? path->path : Path::kScalar;
        p.why_path = path ? path->reason : path.error().message;
        if (p.path == Path::kSimdgroup && (k_[s.regions[1].buffer].scope != Scope::kShared ||
                                           k_[s.regions[2].buffer].scope != Scope::kShared))
            p.path = Path::kScalar, p.why_path = "its operands aren't in shared memory";
        p.work.m = g.m, p.work.n = g.n;
        p.work.k = uint32_t((depth + kMatrixSide - 1) / kMatrixSide * kMatrixSide);
        p.work.executions = times;
        p.work.clears = s.clear;
        p.work.overwrites = is_tensor_path(p.path) && s.clear && g.k > 0 && g.k <= kOneOperation;
        p.work.physical_k = g.k == 0 ? MeanExtent{depth, 1} : mean_inside(k_, a, k_dim, extents_);
        out_.products.push_back(std::move(p));
    }

    void settle(ProductFacts& p) {
        const Stmt& s = k_[p.stmt];
        const BufferId c = s.regions[0].buffer;
        const uint64_t bytes = k_[c].scope == Scope::kGlobal ? 0 : uint64_t(allocation_bytes(k_, c));
        if (k_[c].scope == Scope::kFragment) {
            fragment(p, c, bytes);
        } else if (k_[c].scope == Scope::kShared) {
            p.accumulator_bytes = 0;  // it is there in any case
            if (p.path != Path::kSimdgroup) {
                p.not_resident = p.not_direct = "cooperative tensors don't outlive their statement";
                return;
            }
            shared(p, bytes);
        } else {
            p.work.recurrence = 1;
            p.work.loads = 0, p.work.stores = p.work.executions;
        }
    }

    // The program asks for registers: its own uses are checked when fragments are placed.
    void fragment(ProductFacts& p, BufferId c, uint64_t bytes) {
        p.accumulator_bytes = bytes;
        uint64_t stores = 0;
        for (const auto& [id, times] : times_) {
            const Stmt& s = k_[id];
            if (s.op != StmtOp::kCopy || s.regions[1].buffer != c ||
                k_[s.regions[0].buffer].scope != Scope::kGlobal)
                continue;
            stores += times;
            if (p.not_direct.empty()) p.not_direct = why_not_bounded(s);
        }
        p.work.loads = 0;
        p.work.stores = stores;
        p.work.direct_elements = uint64_t{p.work.m} * p.work.n * stores;
        p.released_direct = bytes;
        p.released_resident = stores == 0 ? bytes : 0;
    }

    // Of a copy to a tensor.
    std::string why_not_bounded(const Stmt& copy) const {
        if (options_.bounded_stores) return {};
        Domain domain(k_);
        domain.bound_grid();
        domain.bound_loops();
        const Region& to = copy.regions[0];
        for (size_t d = 0; d < to.offsets.size(); ++d) {
            const auto span = to.keeps(d) ? constant_int(k_, to.sizes[d]) : std::optional<int64_t>(1);
            if (!span || !domain.proves_non_negative(to.offsets[d]) ||
                !domain.proves_within(to.offsets[d], *span, k_[to.buffer].shape[d]))
                return fmt::format(
                    "it may be stored past the edge of {}, and the option bounded_stores is off",
                    k_[to.buffer].name);
        }
        return {};
    }

    void shared(ProductFacts& p, uint64_t bytes) {
        const AccumulatorProof proof = prove_accumulator(k_, p.stmt, options_.fuse_epilogues);
        p.not_resident = proof.not_resident;
        p.not_direct = proof.not_direct;
        if (!proof.not_resident.empty()) return;
        const uint64_t recurrences = times_[proof.loop];
        p.work.recurrence = std::max<uint64_t>(1, p.work.executions / std::max<uint64_t>(1, recurrences));
        p.work.loads = p.work.stores = recurrences;
        const uint64_t size = uint64_t{p.work.m} * p.work.n;
        if (proof.carry.valid()) {
            p.released_resident = bytes;
            p.work.resident_elements = 2 * size * p.work.executions;
        }
        if (proof.published.valid()) {
            p.released_resident = bytes;
            p.work.resident_elements = size * p.work.executions;
        }
        if (p.not_direct.empty() && k_[proof.sink].op == StmtOp::kCopy)
            p.not_direct = why_not_bounded(k_[proof.sink]);
        if (!p.not_direct.empty()) return;
        p.released_direct = p.released_resident + bytes;
        // An element loop stays, wherever it takes its elements from.
        p.work.stored_by_elements = k_[proof.sink].op == StmtOp::kParallel;
        p.work.direct_elements = (p.work.stored_by_elements ? 1 : 2) * size * recurrences;
    }

    const Kernel& k_;
    Kernel scratch_;
    const PlanOptions& options_;
    std::map<std::string, int64_t> dims_;
    std::set<uint32_t> asked_;  // dims whose size mattered
    Substitution first_;
    std::map<VarId, std::optional<int64_t>> extents_;
    std::map<StmtId, uint64_t> times_;
    Workload out_;
};

}  // namespace

Workload workload_of(const Kernel& k, const PlanOptions& options, double assumed_dim) {
    return WorkloadReader(k, options, assumed_dim).run();
}

}  // namespace ingot::tile
