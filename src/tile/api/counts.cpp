#include "tile/api/counts.h"

#include "tile/ir/build.h"
#include "tile/passes/rewrite.h"

namespace ingot::tile {
namespace {

constexpr int64_t kMatrixElements = 64, kOperationDepth = 16;

class Counting {
  public:
    Counting(const CompiledKernel& c, const std::map<std::string, int64_t>& dims)
        : k_(c.kernel), plan_(c.plan), dims_(dims) {
        for (const VarId v : k_.grid) values_[v] = 0;
    }

    Result<Counts> run() {
        block(k_.body);
        if (error_) return Failure(*error_);
        return counts_;
    }

  private:
    void block(const Block& b) {
        for (const StmtId id : b)
            if (!error_) stmt(id);
    }

    void stmt(StmtId id) {
        const Stmt& s = k_[id];
        switch (s.op) {
            case StmtOp::kFor: {
                const int64_t n = int64_t(value(s.exprs[0]));
                for (int64_t i = 0; i < n && !error_; ++i) {
                    values_[s.vars[0]] = double(i);
                    block(s.body);
                }
                return;
            }
            case StmtOp::kIf:
                block(value(s.exprs[0]) != 0 ? s.body : s.otherwise);
                return;
            case StmtOp::kLet:
                values_[s.vars[0]] = value(s.exprs[0]);
                return;
            case StmtOp::kBarrier:
                ++counts_.barriers;
                return;
            case StmtOp::kGemm:
                product(id);
                return;
            case StmtOp::kParallel: {
                int64_t iterations = 1;
                for (const ExprId e : s.exprs) iterations *= int64_t(value(e));
                elements(s.body, iterations);
                return;
            }
            case StmtOp::kReduce:
                counts_.barriers += plan_.scratch.contains(id);
                break;
            default:
                break;
        }
        for (size_t i = 0; i < s.regions.size(); ++i) {
            const bool writes = access(s, i) != 'r';
            touch(s.regions[i].buffer, size_of(s.regions[i]), writes);
        }
    }

    // Accesses of one iteration, times the iterations; both sides of a branch count.
    void elements(const Block& body, int64_t iterations) {
        walk(k_, body, [&](StmtId id) {
            for (const Region& r : k_[id].regions) touch(r.buffer, iterations, true);
            for (const ExprId e : expressions(k_[id]))
                walk_loads(k_, e, [&](const Expr& l) { touch(BufferId(l.ref), iterations, false); });
        });
    }

    void product(StmtId id) {
        const Stmt& s = k_[id];
        const GemmPlan& g = plan_.gemms.at(id);
        const Partition& p = g.partition;
        const Region &c = s.regions[0], &a = s.regions[1], &b = s.regions[2];
        const int64_t depth = int64_t(value(a.sizes[a.kept()[s.transpose_a ? 0 : 1]]));
        const int64_t m = int64_t(value(c.sizes[c.kept()[0]])), n = int64_t(value(c.sizes[c.kept()[1]]));
        const int64_t atoms = int64_t{p.rows} * p.columns;
        // Rows of A and columns of B that the simdgroups read in all, for one step of K.
        const int64_t rows = p.rectangle ? int64_t{p.rows} * p.gn : atoms,
                      columns = p.rectangle ? int64_t{p.columns} * p.gm : atoms;
        if (g.path == Path::kScalar) {
            touch(a.buffer, m * n * depth, false);
            touch(b.buffer, m * n * depth, false);
            touch(c.buffer, m * n, true);
            return;
        }
        touch(a.buffer, rows * p.atom_m * depth, false);
        touch(b.buffer, columns * p.atom_n * depth, false);
        const bool resident = plan_.fragments.contains(c.buffer);
        if (!resident && !s.clear) touch(c.buffer, m * n, false);
        if (!resident) touch(c.buffer, m * n, true);
        if (g.path != Path::kSimdgroup) {
            counts_.tensor_products +=
                int64_t{p.simdgroups} * ((depth + kOperationDepth - 1) / kOperationDepth);
            return;
        }
        const int64_t steps = depth / p.atom_m;
        counts_.matrix_products += atoms * steps;
        counts_.fragment_loads += (rows + columns) * steps;
        if (!resident && !s.clear && k_[c.buffer].type == DType::kF32) counts_.fragment_loads += atoms;
    }

    int64_t size_of(const Region& r) {
        int64_t n = 1;
        for (const size_t d : r.kept()) n *= int64_t(value(r.sizes[d]));
        return n;
    }

    void touch(BufferId b, int64_t count, bool writes) {
        const Buffer& x = k_[b];
        const int64_t bytes = count * int64_t(size_bytes(x.type));
        if (x.scope == Scope::kGlobal)
            (writes ? counts_.device_bytes_written : counts_.device_bytes_read) += bytes;
        if (x.scope == Scope::kShared)
            (writes ? counts_.threadgroup_bytes_stored : counts_.threadgroup_bytes_loaded) += bytes;
    }

    double value(ExprId id) {
        const Expr& e = k_[id];
        if (e.op == ExprOp::kConst) return e.value;
        if (e.op == ExprOp::kDim) {
            const auto it = dims_.find(k_[DimId(e.ref)].name);
            if (it != dims_.end()) return double(it->second);
        }
        if (e.op == ExprOp::kVar) {
            const auto it = values_.find(VarId(e.ref));
            if (it != values_.end()) return it->second;
        }
        if (e.op == ExprOp::kCast) return value(e.args[0]);
        if (e.args.empty() || e.op == ExprOp::kLoad || e.op == ExprOp::kBits || e.op == ExprOp::kShuffle) {
            if (!error_)
                error_ =
                    Error{ErrorKind::kInvalidArgument,
                          "what a loop or a branch depends on isn't known before a run", k_.where(k_.loc)};
            return 0;
        }
        std::vector<double> args;
        for (const ExprId a : e.args) args.push_back(value(a));
        return evaluate(e.op, k_[e.args[0]].type, e.type, args);
    }

    const Kernel& k_;
    const Plan& plan_;
    const std::map<std::string, int64_t>& dims_;
    std::map<VarId, double> values_;
    Counts counts_;
    std::optional<Error> error_;
};

}  // namespace

Result<Counts> count(const CompiledKernel& compiled, const std::map<std::string, int64_t>& dims) {
    for (const Dim& d : compiled.kernel.dims)
        if (!dims.contains(d.name))
            return fail(ErrorKind::kInvalidArgument, "{}: dim {} has no value", compiled.entry, d.name);
    return Counting(compiled, dims).run();
}

}  // namespace ingot::tile
