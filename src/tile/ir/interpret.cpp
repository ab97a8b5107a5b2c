#include "tile/ir/interpret.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tile/ir/build.h"
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

// Memory of a buffer, and who touched each element last.
struct Memory {
    std::vector<int64_t> shape, strides;
    int64_t offset = 0;
    std::vector<double> values;
    std::vector<uint8_t> written;                 // of an allocation
    std::vector<uint64_t> writer, reader, group;  // stamps; 0 is nobody
};

// A region whose offsets and sizes are numbers.
struct Part {
    Memory* memory;
    const Buffer* buffer;
    std::vector<int64_t> offsets;  // of each dimension
    std::vector<int64_t> sizes;    // of each kept dimension
    std::vector<size_t> kept;
};

// An element's place: as many numbers as the buffer has dimensions, without an allocation.
struct At {
    std::array<int64_t, 8> at;
    size_t rank = 0;

    operator std::span<const int64_t>() const { return {at.data(), rank}; }
};

class Interpreter {
  public:
    Interpreter(const Kernel& k, const Arguments& arguments, std::vector<std::string>* log)
        : k_(k), arguments_(arguments), log_(log), values_(k.vars.size()), memory_(k.buffers.size()) {}

    Result<std::map<std::string, std::vector<double>>> run() {
        INGOT_TRY(bind());
        std::vector<int64_t> extents(3, 1);
        for (size_t i = 0; i < k_.grid.size(); ++i) {
            INGOT_ASSIGN(extents[i], evaluate_at_launch(k_, k_.grid_extents[i], arguments_.dims));
        }
        for (int64_t z = 0; z < extents[2]; ++z)
            for (int64_t y = 0; y < extents[1]; ++y)
                for (int64_t x = 0; x < extents[0]; ++x) {
                    const int64_t at[] = {x, y, z};
                    for (size_t i = 0; i < k_.grid.size(); ++i) values_[k_.grid[i].index()] = double(at[i]);
                    ++group_;
                    if (!block(k_.body)) return Failure(error_);
                }
        std::map<std::string, std::vector<double>> results;
        for (const BufferId b : k_.tensors())
            if (k_[b].role != Role::kIn) results[k_[b].name] = std::move(memory_[b.index()].values);
        return results;
    }

  private:
    Result<void> bind() {
        for (const Dim& d : k_.dims) {
            const auto it = arguments_.dims.find(d.name);
            if (it == arguments_.dims.end())
                return fail(ErrorKind::kInvalidArgument, "dim {} has no value", d.name);
            if (it->second < 0 || it->second % d.multiple_of != 0)
                return fail(ErrorKind::kInvalidArgument,
                            "dim {} is {}; multiples of {} from 0 on are accepted", d.name, it->second,
                            d.multiple_of);
        }
        for (const Scalar& s : k_.scalars) {
            if (!arguments_.scalars.contains(s.name))
                return fail(ErrorKind::kInvalidArgument, "scalar {} has no value", s.name);
        }
        for (const BufferId b : k_.tensors()) INGOT_TRY(bind_tensor(b));
        return {};
    }
    Result<void> bind_tensor(BufferId id) {
        const Buffer& b = k_[id];
        Memory& m = memory_[id.index()];
        for (const ExprId e : b.shape) {
            INGOT_ASSIGN(m.shape.emplace_back(), evaluate_at_launch(k_, e, arguments_.dims));
        }
        for (const ExprId e : b.strides) {
            INGOT_ASSIGN(m.strides.emplace_back(), evaluate_at_launch(k_, e, arguments_.dims));
        }
        if (b.strides.empty()) row_major(m);
        if (b.offset.valid()) {
            INGOT_ASSIGN(m.offset, evaluate_at_launch(k_, b.offset, arguments_.dims));
        }
        INGOT_ASSIGN(const size_t elements, tensor_elements(k_, id, arguments_.dims));
        const auto it = arguments_.tensors.find(b.name);
        if (it == arguments_.tensors.end() && b.role != Role::kOut)
            return fail(ErrorKind::kInvalidArgument, "tensor {} has no memory", b.name);
        if (it != arguments_.tensors.end()) m.values = it->second;
        if (m.values.size() < elements && b.role != Role::kOut)
            return fail(ErrorKind::kInvalidArgument, "tensor {} has {} elements; at least {} are accepted",
                        b.name, m.values.size(), elements);
        m.values.resize(std::max(elements, m.values.size()));
        stamp(m);
        m.group.assign(m.values.size(), 0);
        return {};
    }
    static void row_major(Memory& m) {
        m.strides.assign(m.shape.size(), 1);
        for (size_t d = m.shape.size(); d-- > 1;) m.strides[d - 1] = m.strides[d] * m.shape[d];
    }
    static void stamp(Memory& m) {
        m.writer.assign(m.values.size(), 0);
        m.reader.assign(m.values.size(), 0);
    }

    template <typename... Args>
    void error(fmt::format_string<Args...> format, Args&&... args) {
        if (failed_) return;
        failed_ = true;
        error_ = Error{ErrorKind::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...),
                       k_.where(loc_)};
    }

    // --- elements
    bool inside(const Memory& m, std::span<const int64_t> at) const {
        for (size_t d = 0; d < at.size(); ++d)
            if (at[d] < 0 || at[d] >= m.shape[d]) return false;
        return true;
    }
    static size_t place(const Memory& m, std::span<const int64_t> at) {
        int64_t p = m.offset;
        for (size_t d = 0; d < at.size(); ++d) p += at[d] * m.strides[d];
        return size_t(p);
    }
    std::string shown(std::span<const int64_t> at) const {
        std::string out;
        for (const int64_t i : at) out += fmt::format("{}{}", out.empty() ? "" : ", ", i);
        return "[" + out + "]";
    }
    // Outside of a tensor is an edge; outside of an allocation is a mistake.
    bool outside(const Buffer& b, const Memory& m, std::span<const int64_t> at) {
        if (inside(m, at)) return false;
        if (b.scope != Scope::kGlobal)
            error("{}{} is out of bounds: its sizes are {}", b.name, shown(at), shown(m.shape));
        return true;
    }
    double read(const Buffer& b, Memory& m, std::span<const int64_t> at, double fill = 0) {
        if (outside(b, m, at)) return fill;
        const size_t p = place(m, at);
        if (b.scope != Scope::kGlobal && !m.written[p])
            error("{}{} is read before anything is written to it", b.name, shown(at));
        if (iteration_ != 0) {
            if (other(m.writer[p]))
                error("{}{} is read by one iteration and written by another", b.name, shown(at));
            m.reader[p] = iteration_;
        }
        return m.values[p];
    }
    void write(const Buffer& b, Memory& m, std::span<const int64_t> at, double value, bool atomic = false) {
        if (outside(b, m, at)) return;
        const size_t p = place(m, at);
        if (iteration_ != 0 && !atomic) {
            if (other(m.writer[p])) error("{}{} is written by two iterations", b.name, shown(at));
            if (other(m.reader[p]))
                error("{}{} is read by one iteration and written by another", b.name, shown(at));
            m.writer[p] = iteration_;
        }
        if (b.scope == Scope::kGlobal && !atomic) {
            if (m.group[p] != 0 && m.group[p] != group_)
                error("{}{} is written by two groups", b.name, shown(at));
            m.group[p] = group_;
        }
        if (b.scope != Scope::kGlobal) m.written[p] = 1;
        m.values[p] = wrap(b.type, value);
    }
    // Stamps are (parallel statement << 32 | iteration): of the same statement, another iteration?
    bool other(uint64_t stamp) const { return stamp != iteration_ && (stamp >> 32) == (iteration_ >> 32); }

    // --- expressions
    double eval(ExprId id) {
        const Expr& e = k_[id];
        switch (e.op) {
            case ExprOp::kConst:
                return e.value;
            case ExprOp::kVar:
                return values_[e.ref];
            case ExprOp::kDim:
                return double(arguments_.dims.at(k_[DimId(e.ref)].name));
            case ExprOp::kScalar:
                return arguments_.scalars.at(k_[ScalarId(e.ref)].name);
            case ExprOp::kLoad: {
                At at{{}, e.args.size()};
                for (size_t d = 0; d < e.args.size(); ++d) at.at[d] = int64_t(eval(e.args[d]));
                return read(k_[BufferId(e.ref)], memory_[e.ref], at);
            }
            case ExprOp::kSelect:  // only the chosen side is read
                return eval(e.args[0]) != 0 ? eval(e.args[1]) : eval(e.args[2]);
            case ExprOp::kAnd:
                return eval(e.args[0]) != 0 && eval(e.args[1]) != 0;
            case ExprOp::kOr:
                return eval(e.args[0]) != 0 || eval(e.args[1]) != 0;
            default:
                break;
        }
        double args[3] = {};
        for (size_t i = 0; i < e.args.size(); ++i) args[i] = eval(e.args[i]);
        const bool divides = e.op == ExprOp::kDiv || e.op == ExprOp::kMod || e.op == ExprOp::kCeilDiv;
        const DType type = k_[e.args[0]].type;
        if (divides && !is_float(type) && args[1] == 0) {
            error("{}: division by 0", print(k_, id));
            return 0;
        }
        return evaluate(e.op, type, e.type, std::span(args, e.args.size()));
    }

    // --- regions
    Part part(const Region& r) {
        Part p{&memory_[r.buffer.index()], &k_[r.buffer], {}, {}, r.kept()};
        for (const ExprId e : r.offsets) p.offsets.push_back(int64_t(eval(e)));
        for (const size_t d : p.kept) p.sizes.push_back(std::max<int64_t>(0, int64_t(eval(r.sizes[d]))));
        return p;
    }
    At index_in(const Part& p, std::span<const int64_t> at) const {
        At index{{}, p.offsets.size()};
        std::ranges::copy(p.offsets, index.at.begin());
        for (size_t i = 0; i < at.size(); ++i) index.at[p.kept[i]] += at[i];
        return index;
    }
    double read(const Part& p, std::span<const int64_t> at, double fill = 0) {
        return read(*p.buffer, *p.memory, index_in(p, at), fill);
    }
    void write(const Part& p, std::span<const int64_t> at, double value) {
        write(*p.buffer, *p.memory, index_in(p, at), value);
    }
    // Calls body(index) for every index below `sizes`, the last one fastest.
    template <typename Body>
    bool each(const std::vector<int64_t>& sizes, Body body) {
        for (const int64_t n : sizes)
            if (n <= 0) return !failed_;
        std::vector<int64_t> at(sizes.size(), 0);
        while (!failed_) {
            body(std::span<const int64_t>(at));
            size_t d = sizes.size();
            while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
            if (d == 0) break;
        }
        return !failed_;
    }

    // --- statements; false after an error
    bool block(const Block& body) {
        for (const StmtId id : body) {
            loc_ = k_[id].loc;
            if (!stmt(k_[id])) return false;
        }
        return true;
    }
    bool stmt(const Stmt& s) {
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
            case StmtOp::kPrint: {
                std::string line = s.text;
                for (const ExprId e : s.exprs) line += fmt::format(" {}", eval(e));
                if (log_ != nullptr) log_->push_back(line);
                return !failed_;
            }
            case StmtOp::kAssert:
                if (eval(s.exprs[0]) == 0) error("assertion failed: {}: {}", print(k_, s.exprs[0]), s.text);
                return !failed_;
        }
        return false;
    }
    bool allocate(BufferId id) {
        Memory& m = memory_[id.index()];
        if (m.shape.empty()) {
            for (size_t d = 0; d < k_[id].shape.size(); ++d) m.shape.push_back(extent(k_, id, d));
            row_major(m);
            int64_t elements = 1;
            for (const int64_t n : m.shape) elements *= n;
            m.values.resize(size_t(elements));
            stamp(m);
        }
        m.written.assign(m.values.size(), 0);
        if (k_[id].scope == Scope::kLocal) stamp(m);  // each iteration has its own
        return true;
    }
    bool copy(const Stmt& s) {
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
    bool gemm(const Stmt& s) {
        const Part c = part(s.regions[0]), a = part(s.regions[1]), b = part(s.regions[2]);
        const int64_t depth = a.sizes[s.transpose_a ? 0 : 1];
        const int64_t m = c.sizes[0], n = c.sizes[1];
        std::vector<double> left(size_t(m * depth)), right(size_t(depth * n));
        each({m, depth}, [&](auto at) {
            const int64_t swapped[] = {at[1], at[0]};
            left[size_t(at[0] * depth + at[1])] =
                read(a, s.transpose_a ? std::span<const int64_t>(swapped) : at);
        });
        each({depth, n}, [&](auto at) {
            const int64_t swapped[] = {at[1], at[0]};
            right[size_t(at[0] * n + at[1])] =
                read(b, s.transpose_b ? std::span<const int64_t>(swapped) : at);
        });
        return each(c.sizes, [&](auto at) {
            double sum = s.clear ? 0 : read(c, at);
            for (int64_t k = 0; k < depth; ++k)
                sum += left[size_t(at[0] * depth + k)] * right[size_t(k * n + at[1])];
            write(c, at, sum);
        });
    }
    bool reduce(const Stmt& s) {
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
    bool cumsum(const Stmt& s) {
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
    bool store(const Stmt& s) {
        const Part dst = part(s.regions[0]);
        double value = eval(s.exprs[0]);
        const bool atomic = s.op == StmtOp::kAtomicAdd;
        if (atomic && inside(*dst.memory, dst.offsets)) {
            const size_t p = place(*dst.memory, dst.offsets);
            if (dst.buffer->scope != Scope::kGlobal && !dst.memory->written[p])
                error("{}{} is added to before anything is written to it", dst.buffer->name,
                      shown(dst.offsets));
            value += dst.memory->values[p];
        }
        write(*dst.buffer, *dst.memory, dst.offsets, value, atomic);
        return !failed_;
    }
    bool loop(const Stmt& s) {
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
    bool parallel(const Stmt& s) {
        std::vector<int64_t> extents;
        for (const ExprId e : s.exprs) extents.push_back(int64_t(eval(e)));
        ++parallel_;
        uint64_t iteration = 0;
        each(extents, [&](auto at) {
            iteration_ = (parallel_ << 32) | ++iteration;
            for (size_t i = 0; i < at.size(); ++i) values_[s.vars[i].index()] = double(at[i]);
            block(s.body);
        });
        iteration_ = 0;
        return !failed_;
    }

    const Kernel& k_;
    const Arguments& arguments_;
    std::vector<std::string>* log_;
    std::vector<double> values_;
    std::vector<Memory> memory_;
    std::vector<double> yielded_;
    uint64_t group_ = 0, parallel_ = 0, iteration_ = 0;
    SourceLoc loc_;
    bool failed_ = false;
    Error error_{};
};

}  // namespace

Result<int64_t> evaluate_at_launch(const Kernel& k, ExprId id, const std::map<std::string, int64_t>& dims) {
    const Expr& e = k[id];
    if (e.op == ExprOp::kConst) return int64_t(e.value);
    if (e.op == ExprOp::kDim) {
        const auto it = dims.find(k[DimId(e.ref)].name);
        if (it == dims.end())
            return fail(ErrorKind::kInvalidArgument, "dim {} has no value", k[DimId(e.ref)].name);
        return it->second;
    }
    if (e.args.empty() || e.op == ExprOp::kLoad)
        return fail(ErrorKind::kInvalidArgument, "{} isn't known at launch; constants and dims are",
                    print(k, id));
    std::vector<double> args;
    for (const ExprId a : e.args) {
        INGOT_ASSIGN(const int64_t value, evaluate_at_launch(k, a, dims));
        args.push_back(double(value));
    }
    const bool divides = e.op == ExprOp::kDiv || e.op == ExprOp::kMod || e.op == ExprOp::kCeilDiv;
    if (divides && args[1] == 0) return fail(ErrorKind::kInvalidArgument, "{}: division by 0", print(k, id));
    return int64_t(evaluate(e.op, k[e.args[0]].type, e.type, args));
}

Result<size_t> tensor_elements(const Kernel& k, BufferId tensor, const std::map<std::string, int64_t>& dims) {
    const Buffer& b = k[tensor];
    int64_t last = 0, stride = 1;
    if (b.offset.valid()) {
        INGOT_ASSIGN(last, evaluate_at_launch(k, b.offset, dims));
    }
    for (size_t d = b.shape.size(); d-- > 0;) {
        INGOT_ASSIGN(const int64_t size, evaluate_at_launch(k, b.shape[d], dims));
        if (size <= 0) return size_t{0};
        if (!b.strides.empty()) {
            INGOT_ASSIGN(stride, evaluate_at_launch(k, b.strides[d], dims));
        }
        if (stride < 0)
            return fail(ErrorKind::kInvalidArgument, "{} has a stride of {}; 0 and more are accepted", b.name,
                        stride);
        last += (size - 1) * stride;
        stride *= size;
        if (last > (int64_t{1} << 40))
            return fail(ErrorKind::kLimit, "{} has more than 2^40 elements", b.name);
    }
    return size_t(last + 1);
}

Result<std::map<std::string, std::vector<double>>> interpret(const Kernel& k, const Arguments& arguments,
                                                             std::vector<std::string>* log) {
    return Interpreter(k, arguments, log).run();
}

}  // namespace ingot::tile
