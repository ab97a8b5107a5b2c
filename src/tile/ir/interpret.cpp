#include "tile/ir/interpret.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tile/ir/build.h"
#include "tile/ir/interpreter.h"
#include "tile/ir/print.h"

namespace ingot::tile {

Result<std::map<std::string, std::vector<double>>> Interpreter::run() {
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

Result<void> Interpreter::bind() {
    for (const Dim& d : k_.dims) {
        const auto it = arguments_.dims.find(d.name);
        if (it == arguments_.dims.end())
            return fail(ErrorKind::kInvalidArgument, "dim {} has no value", d.name);
        INGOT_TRY(check_dim(d, it->second));
    }
    for (const Scalar& s : k_.scalars) {
        if (!arguments_.scalars.contains(s.name))
            return fail(ErrorKind::kInvalidArgument, "scalar {} has no value", s.name);
    }
    for (const BufferId b : k_.tensors()) INGOT_TRY(bind_tensor(b));
    return {};
}

Result<void> Interpreter::bind_tensor(BufferId id) {
    const Buffer& b = k_[id];
    Memory& m = memory_[id.index()];
    for (const ExprId e : b.shape) {
        INGOT_ASSIGN(m.shape.emplace_back(), evaluate_at_launch(k_, e, arguments_.dims));
    }
    for (const ExprId e : b.strides) {
        INGOT_ASSIGN(m.strides.emplace_back(), evaluate_at_launch(k_, e, arguments_.dims));
    }
    if (b.strides.empty()) m.make_row_major();
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
    m.clear_stamps();
    m.group.assign(m.values.size(), 0);
    return {};
}

Result<void> check_dim(const Dim& dim, int64_t value) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (value >= 0 && value <= kMost && value % dim.multiple_of == 0) return {};
    return fail(ErrorKind::kInvalidArgument, "dim {} is {}; multiples of {} from 0 to {} are accepted",
                dim.name, value, dim.multiple_of, kMost);
}

namespace {

// What an operator gives before it wraps; nothing where it can't leave its type. Operands have at most 32
// bits, so a double tells what fits from what doesn't.
std::optional<double> unwrapped(ExprOp op, std::span<const double> args) {
    switch (op) {
        case ExprOp::kAdd:
            return args[0] + args[1];
        case ExprOp::kSub:
            return args[0] - args[1];
        case ExprOp::kMul:
            return args[0] * args[1];
        case ExprOp::kShl:
            return std::ldexp(args[0], int(args[1]) & 31);
        case ExprOp::kNeg:
            return -args[0];
        case ExprOp::kCast:
            return args[0];
        default:
            return std::nullopt;
    }
}

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
    const double value = evaluate(e.op, k[e.args[0]].type, e.type, args);
    const auto exact = unwrapped(e.op, args);
    if (exact && *exact != value)
        return fail(ErrorKind::kLimit, "{} is {:.0f}, which {} can't hold", print(k, id), *exact,
                    name(e.type));
    return int64_t(value);
}

Result<size_t> tensor_elements(const Kernel& k, BufferId tensor, const std::map<std::string, int64_t>& dims) {
    const Buffer& b = k[tensor];
    constexpr int64_t kMaxLast = int64_t{1} << 40;
    int64_t last = 0, stride = 1;
    if (b.offset.valid()) {
        INGOT_ASSIGN(last, evaluate_at_launch(k, b.offset, dims));
        if (last < 0)
            return fail(ErrorKind::kInvalidArgument, "{} has an offset of {}; 0 and more are accepted",
                        b.name, last);
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
        int64_t way = 0;
        if (__builtin_mul_overflow(size - 1, stride, &way) || __builtin_add_overflow(last, way, &last) ||
            last > kMaxLast)
            return fail(ErrorKind::kLimit, "{} has more than 2^40 elements", b.name);
        stride *= size;  // of rows without gaps: at most last + 1
    }
    return size_t(last + 1);
}

Result<std::map<std::string, std::vector<double>>> interpret(const Kernel& k, const Arguments& arguments,
                                                             std::vector<std::string>* log) {
    return Interpreter(k, arguments, log).run();
}

}  // namespace ingot::tile
