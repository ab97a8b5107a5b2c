// Elements of memory, with who touched them, and the values of expressions.
#include <algorithm>

#include "tile/ir/build.h"
#include "tile/ir/interpreter.h"
#include "tile/ir/print.h"

namespace ingot::tile {
namespace {

std::string shown(std::span<const int64_t> at) {
    return fmt::format("[{}]", fmt::join(at, ", "));
}

}  // namespace

void Interpreter::Memory::make_row_major() {
    strides.assign(shape.size(), 1);
    for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
}

void Interpreter::Memory::clear_stamps() {
    writer.assign(values.size(), 0);
    reader.assign(values.size(), 0);
}

bool Interpreter::Memory::has(std::span<const int64_t> at) const {
    for (size_t d = 0; d < at.size(); ++d)
        if (at[d] < 0 || at[d] >= shape[d]) return false;
    return true;
}

size_t Interpreter::Memory::place(std::span<const int64_t> at) const {
    int64_t p = offset;
    for (size_t d = 0; d < at.size(); ++d) p += at[d] * strides[d];
    return size_t(p);
}

// Outside of a tensor is an edge; outside of an allocation is a mistake.
bool Interpreter::outside(const Buffer& b, const Memory& m, std::span<const int64_t> at) {
    if (m.has(at)) return false;
    if (b.scope != Scope::kGlobal)
        error("{}{} is out of bounds: its sizes are {}", b.name, shown(at), shown(m.shape));
    return true;
}

double Interpreter::read(const Buffer& b, Memory& m, std::span<const int64_t> at, double fill) {
    if (outside(b, m, at)) return fill;
    const size_t p = m.place(at);
    if (b.scope != Scope::kGlobal && !m.written[p])
        error("{}{} is read before anything is written to it", b.name, shown(at));
    if (iteration_ != 0) {
        if (other(m.writer[p]))
            error("{}{} is read by one iteration and written by another", b.name, shown(at));
        m.reader[p] = iteration_;
    }
    return m.values[p];
}

void Interpreter::write(const Buffer& b, Memory& m, std::span<const int64_t> at, double value, bool atomic) {
    if (outside(b, m, at)) return;
    const size_t p = m.place(at);
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

double Interpreter::eval(ExprId id) {
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
        case ExprOp::kShuffle:
            return shuffled(e);
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

// What another of the 32 lanes has: its variables, and its own memory, are looked at in its place.
double Interpreter::shuffled(const Expr& e) {
    const auto from = int64_t(eval(e.args[1]));
    if (from < 0 || from >= int64_t(lanes_.size())) {
        error("a shuffle from lane {}; 0 to {} are accepted", from, int64_t(lanes_.size()) - 1);
        return 0;
    }
    const size_t me = lane_;
    swap_with(lanes_[me]);
    lane_ = size_t(from);
    swap_with(lanes_[lane_]);
    const double value = eval(e.args[0]);
    swap_with(lanes_[lane_]);
    lane_ = me;
    swap_with(lanes_[me]);
    return value;
}

Interpreter::Part Interpreter::part(const Region& r) {
    Part p{&memory_[r.buffer.index()], &k_[r.buffer], {}, {}, r.kept()};
    for (const ExprId e : r.offsets) p.offsets.push_back(int64_t(eval(e)));
    for (const size_t d : p.kept) p.sizes.push_back(std::max<int64_t>(0, int64_t(eval(r.sizes[d]))));
    return p;
}

Interpreter::At Interpreter::index_in(const Part& p, std::span<const int64_t> at) const {
    At index{{}, p.offsets.size()};
    std::ranges::copy(p.offsets, index.at.begin());
    for (size_t i = 0; i < at.size(); ++i) index.at[p.kept[i]] += at[i];
    return index;
}

}  // namespace ingot::tile
