// Structural equality of kernels whose arenas may be ordered differently.
#include "tile/ir/ir.h"

namespace ingot::tile {
namespace {

class Comparison {
  public:
    Comparison(const Kernel& a, const Kernel& b) : a_(a), b_(b) {}

    bool run() {
        if (a_.name != b_.name || a_.threads != b_.threads || a_.swizzle != b_.swizzle) return false;
        if (!equal(a_.dims, b_.dims,
                   [](const Dim& x, const Dim& y) {
                       return x.name == y.name && x.multiple_of == y.multiple_of;
                   }) ||
            !equal(a_.scalars, b_.scalars,
                   [](const Scalar& x, const Scalar& y) { return x.name == y.name && x.type == y.type; }) ||
            !equal(a_.tensors(), b_.tensors(), [&](BufferId x, BufferId y) { return buffer(x, y); })) {
            return false;
        }
        return exprs(a_.grid_extents, b_.grid_extents) &&
               equal(a_.grid, b_.grid, [&](VarId x, VarId y) { return declare(x, y); }) &&
               block(a_.body, b_.body);
    }

  private:
    template <typename List, typename Same>
    static bool equal(const List& x, const List& y, Same same) {
        if (x.size() != y.size()) return false;
        for (size_t i = 0; i < x.size(); ++i)
            if (!same(x[i], y[i])) return false;
        return true;
    }

    bool declare(VarId x, VarId y) {
        vars_[x.index()] = y.index();
        return a_[x].name == b_[y].name && a_[x].type == b_[y].type && a_[x].kind == b_[y].kind;
    }

    bool buffer(BufferId x, BufferId y) {
        buffers_[x.index()] = y.index();
        const Buffer &p = a_[x], &q = b_[y];
        return p.name == q.name && p.type == q.type && p.scope == q.scope && p.role == q.role &&
               exprs(p.shape, q.shape) && exprs(p.strides, q.strides) && expr(p.offset, q.offset);
    }

    bool exprs(const std::vector<ExprId>& x, const std::vector<ExprId>& y) {
        return equal(x, y, [&](ExprId p, ExprId q) { return expr(p, q); });
    }

    bool expr(ExprId x, ExprId y) {
        if (x.valid() != y.valid()) return false;
        if (!x.valid()) return true;
        const Expr &p = a_[x], &q = b_[y];
        const bool same_value = p.value == q.value || (p.value != p.value && q.value != q.value);
        if (p.op != q.op || p.type != q.type || !same_value) return false;
        if (p.op == ExprOp::kVar && mapped(vars_, p.ref) != q.ref) return false;
        if (p.op == ExprOp::kLoad && mapped(buffers_, p.ref) != q.ref) return false;
        if ((p.op == ExprOp::kDim || p.op == ExprOp::kScalar) && p.ref != q.ref) return false;
        return exprs(p.args, q.args);
    }

    bool region(const Region& x, const Region& y) {
        return mapped(buffers_, x.buffer.index()) == y.buffer.index() && exprs(x.offsets, y.offsets) &&
               exprs(x.sizes, y.sizes);
    }

    bool stmt(StmtId xi, StmtId yi) {
        const Stmt &x = a_[xi], &y = b_[yi];
        if (x.op != y.op || x.transpose_a != y.transpose_a || x.transpose_b != y.transpose_b ||
            x.clear != y.clear || x.policy != y.policy || x.reduction != y.reduction || x.axis != y.axis ||
            x.loop != y.loop || x.stages != y.stages || x.text != y.text) {
            return false;
        }
        if (x.op == StmtOp::kAlloc) return buffer(x.buffer, y.buffer);
        // The results of a loop are declared with it: nothing in its body can name them.
        if (!exprs(x.exprs, y.exprs) ||
            !equal(x.vars, y.vars, [&](VarId p, VarId q) { return declare(p, q); }))
            return false;
        return equal(x.regions, y.regions, [&](const Region& p, const Region& q) { return region(p, q); }) &&
               block(x.body, y.body) && block(x.otherwise, y.otherwise);
    }

    bool block(const Block& x, const Block& y) {
        return equal(x, y, [&](StmtId p, StmtId q) { return stmt(p, q); });
    }

    static uint32_t mapped(const std::unordered_map<uint32_t, uint32_t>& map, uint32_t key) {
        const auto it = map.find(key);
        return it == map.end() ? ~0u : it->second;
    }

    const Kernel &a_, &b_;
    std::unordered_map<uint32_t, uint32_t> vars_, buffers_;
};

}  // namespace

bool same_program(const Kernel& a, const Kernel& b) {
    return Comparison(a, b).run();
}

}  // namespace ingot::tile
