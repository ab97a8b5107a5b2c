// What statements do. Floats are doubles and aren't rounded.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tile/ir/build.h"
#include "tile/ir/interpreter.h"
#include "tile/ir/print.h"

namespace ingot::tile {
namespace {

double combine(Reduction r, double a, double b) {
    switch (r) {
#define X(id, keyword, start, expression) \
    case Reduction::k##id:                \
        return expression;
        INGOT_TILE_REDUCTIONS(X)
#undef X
    }
    return 0;
}
double identity(Reduction r) {
    switch (r) {
#define X(id, keyword, start, expression) \
    case Reduction::k##id:                \
        return start;
        INGOT_TILE_REDUCTIONS(X)
#undef X
    }
    return 0;
}

}  // namespace

bool Interpreter::block(const Block& body) {
    for (const StmtId id : body) {
        loc_ = k_[id].loc;
        if (!stmt(k_[id])) return false;
    }
    return true;
}

bool Interpreter::stmt(const Stmt& s) {
    switch (s.op) {
        case StmtOp::kAlloc:
            return allocate(s.buffer);
        case StmtOp::kCopy:
            return copy(s);
        case StmtOp::kFill: {
            const Part dst = part(s.regions[0]);
            const double value = eval(s.exprs[0]);
            return each(dst.sizes, [&](auto at) { write(dst, at, value); });
        }
        case StmtOp::kGemm:
            return gemm(s);
        case StmtOp::kReduce:
            return reduce(s);
        case StmtOp::kCumSum:
            return cumsum(s);
        case StmtOp::kStore:
        case StmtOp::kAtomicAdd:
            return store(s);
        case StmtOp::kFor:
            return loop(s);
        case StmtOp::kParallel:
            return parallel(s);
        case StmtOp::kIf:
            return block(eval(s.exprs[0]) != 0 ? s.body : s.otherwise);
        case StmtOp::kLet:
            values_[s.vars[0].index()] = eval(s.exprs[0]);
            return !failed_;
        case StmtOp::kYield:
            yielded_.clear();
            for (const ExprId e : s.exprs) yielded_.push_back(eval(e));
            return !failed_;
        case StmtOp::kBarrier:
            return true;
        case StmtOp::kPrint:
            return print_line(s);
        case StmtOp::kAssert:
            if (eval(s.exprs[0]) == 0) error("assertion failed: {}: {}", print(k_, s.exprs[0]), s.text);
            return !failed_;
    }
    return false;
}

bool Interpreter::allocate(BufferId id) {
    Memory& m = memory_[id.index()];
    if (m.shape.empty()) {
        for (size_t d = 0; d < k_[id].shape.size(); ++d) m.shape.push_back(extent(k_, id, d));
        m.make_row_major();
        int64_t elements = 1;
        for (const int64_t n : m.shape) elements *= n;
        m.values.resize(size_t(elements));
        m.clear_stamps();
    }
    m.written.assign(m.values.size(), 0);
    if (k_[id].scope == Scope::kLocal) m.clear_stamps();  // each iteration has its own
    return true;
}

bool Interpreter::copy(const Stmt& s) {
    const Part dst = part(s.regions[0]), src = part(s.regions[1]);
    const double fill = s.exprs.empty() ? 0 : eval(s.exprs[0]);
    // A snapshot: everything is read before anything is written.
    std::vector<double> values;
    const bool truncates = is_float(src.buffer->type) && !is_float(dst.buffer->type);
    each(dst.sizes, [&](auto at) {
        const double v = read(src, at, fill);
        values.push_back(truncates ? std::trunc(v) : v);
    });
    size_t next = 0;
    return each(dst.sizes, [&](auto at) { write(dst, at, values[next++]); });
}

bool Interpreter::gemm(const Stmt& s) {
    const Part c = part(s.regions[0]), a = part(s.regions[1]), b = part(s.regions[2]);
    const int64_t depth = a.sizes[s.transpose_a ? 0 : 1];
    const int64_t m = c.sizes[0], n = c.sizes[1];
    std::vector<double> left(size_t(m * depth)), right(size_t(depth * n));
    each({m, depth}, [&](auto at) {
        const int64_t swapped[] = {at[1], at[0]};
        left[size_t(at[0] * depth + at[1])] = read(a, s.transpose_a ? std::span<const int64_t>(swapped) : at);
    });
    each({depth, n}, [&](auto at) {
        const int64_t swapped[] = {at[1], at[0]};
        right[size_t(at[0] * n + at[1])] = read(b, s.transpose_b ? std::span<const int64_t>(swapped) : at);
    });
    return each(c.sizes, [&](auto at) {
        double sum = s.clear ? 0 : read(c, at);
        for (int64_t k = 0; k < depth; ++k)
            sum += left[size_t(at[0] * depth + k)] * right[size_t(k * n + at[1])];
        write(c, at, sum);
    });
}

bool Interpreter::reduce(const Stmt& s) {
    const Part dst = part(s.regions[0]), src = part(s.regions[1]);
    std::vector<int64_t> outer = src.sizes;
    const int64_t count = outer[s.axis];
    outer.erase(outer.begin() + s.axis);
    return each(outer, [&](auto at) {
        std::vector<int64_t> from(at.begin(), at.end()), to(at.begin(), at.end());
        from.insert(from.begin() + s.axis, 0);
        if (to.size() < dst.sizes.size()) to.push_back(0);
        double sum = s.clear ? identity(s.reduction) : read(dst, to);
        for (int64_t i = 0; i < count; ++i) {
            from[s.axis] = i;
            sum = combine(s.reduction, sum, read(src, from));
        }
        write(dst, to, sum);
    });
}

bool Interpreter::cumsum(const Stmt& s) {
    const Part dst = part(s.regions[0]), src = part(s.regions[1]);
    std::vector<int64_t> outer = src.sizes;
    const int64_t count = outer[s.axis];
    outer.erase(outer.begin() + s.axis);
    return each(outer, [&](auto at) {
        std::vector<int64_t> index(at.begin(), at.end());
        index.insert(index.begin() + s.axis, 0);
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            index[s.axis] = i;
            sum += read(src, index);
            write(dst, index, sum);
        }
    });
}

bool Interpreter::store(const Stmt& s) {
    const Part dst = part(s.regions[0]);
    double value = eval(s.exprs[0]);
    const bool atomic = s.op == StmtOp::kAtomicAdd;
    if (atomic && dst.memory->has(dst.offsets)) {
        const size_t p = dst.memory->place(dst.offsets);
        if (dst.buffer->scope != Scope::kGlobal && !dst.memory->written[p])
            error("{}[{}] is added to before anything is written to it", dst.buffer->name,
                  fmt::join(dst.offsets, ", "));
        value += dst.memory->values[p];
    }
    write(*dst.buffer, *dst.memory, dst.offsets, value, atomic);
    return !failed_;
}

bool Interpreter::loop(const Stmt& s) {
    const int64_t n = int64_t(eval(s.exprs[0]));
    const size_t carried = s.exprs.size() - 1;
    std::vector<double> state;
    for (size_t i = 0; i < carried; ++i) state.push_back(eval(s.exprs[1 + i]));
    for (int64_t i = 0; i < n; ++i) {
        values_[s.vars[0].index()] = double(i);
        for (size_t c = 0; c < carried; ++c) values_[s.vars[1 + c].index()] = state[c];
        if (!block(s.body)) return false;
        if (carried != 0) state = yielded_;
    }
    for (size_t c = 0; c < carried; ++c) values_[s.vars[1 + carried + c].index()] = state[c];
    return !failed_;
}

bool Interpreter::print_line(const Stmt& s) {
    std::string line = s.text;
    for (const ExprId e : s.exprs) line += fmt::format(" {}", eval(e));
    if (log_ != nullptr) log_->push_back(line);
    return !failed_;
}

bool Interpreter::parallel(const Stmt& s) {
    std::vector<int64_t> extents;
    for (const ExprId e : s.exprs) extents.push_back(int64_t(eval(e)));
    ++parallel_;
    const bool shuffles = has_shuffle(k_, s.body);
    lanes_.clear();
    uint64_t iteration = 0;
    each(extents, [&](auto at) {
        iteration_ = (parallel_ << 32) | ++iteration;
        for (size_t i = 0; i < at.size(); ++i) values_[s.vars[i].index()] = double(at[i]);
        if (!shuffles) {
            block(s.body);
            return;
        }
        lanes_.push_back({.values = values_, .locals = {}, .iteration = iteration_});
        if (lanes_.size() == kShuffleLanes) run_lanes(s);
    });
    iteration_ = 0;
    return !failed_;
}

// 32 iterations that may ask each other: a statement is done for all of them before the next one begins.
void Interpreter::run_lanes(const Stmt& s) {
    locals_.clear();
    for (const StmtId id : s.body)
        if (k_[id].op == StmtOp::kAlloc) locals_.push_back(k_[id].buffer);
    for (Lane& lane : lanes_) lane.locals.resize(locals_.size());
    for (const StmtId id : s.body) {
        loc_ = k_[id].loc;
        for (lane_ = 0; lane_ < lanes_.size() && !failed_; ++lane_) {
            swap_with(lanes_[lane_]);
            stmt(k_[id]);
            swap_with(lanes_[lane_]);
        }
    }
    lanes_.clear();
}

void Interpreter::swap_with(Lane& lane) {
    values_.swap(lane.values);
    std::swap(iteration_, lane.iteration);
    for (size_t i = 0; i < locals_.size(); ++i) std::swap(memory_[locals_[i].index()], lane.locals[i]);
}

}  // namespace ingot::tile
