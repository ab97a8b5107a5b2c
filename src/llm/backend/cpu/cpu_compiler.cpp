#include "llm/backend/cpu/cpu_compiler.h"

#include <algorithm>

#include "llm/backend/index_check.h"

namespace ingot::cpu {

using graph::Op;
using graph::Shape;

Result<void> Compiler::node(const BoundNode& bound) {
    bound_ = &bound;
    node_ = &graph_[bound.id];
    if (bound.out.buffer.valid()) {
        program_->values_[bound.id] = {floats(bound.out), bound.out.length};
    }
    switch (node_->op) {
        case Op::kAdd:
            elementwise("add", cpu::add);
            return {};
        case Op::kMul:
            elementwise("mul", cpu::mul);
            return {};
        case Op::kSwiGLU:
            elementwise("swiglu", cpu::swiglu);
            return {};
        case Op::kGeGLU:
            elementwise("geglu", cpu::geglu);
            return {};
        case Op::kSilu:
            unary("silu", cpu::silu);
            return {};
        case Op::kGelu:
            unary("gelu", cpu::gelu);
            return {};
        case Op::kSoftmax:
            unary("softmax", cpu::softmax);
            return {};
        case Op::kScale: {
            const uint32_t width = node_->shape.last(), rows = uint32_t(node_->shape.count() / width);
            step("scale", [&k = backend_.kernels(), x = in(0, width), y = out(width), rows, width,
                           factor = node_->as<graph::ScaleAttrs>().factor](Worker& w) {
                cpu::scale(k, w, x, factor, y, rows, width);
            });
            return {};
        }
        case Op::kRmsNorm:
            return rms_norm();
        case Op::kQkNorm:
            return qk_norm();
        case Op::kMatMul:
            return mat_mul();
        case Op::kGetRows:
            return get_rows();
        case Op::kRoPE:
            return rope();
        case Op::kAttn:
            return attention();
        case Op::kKvcacheStore:
            return kv_store();
        case Op::kKvcacheLoad:
            return {};
        case Op::kPermute:
            return permute();
        case Op::kFusedQKV:
        case Op::kFusedQkvNorm:
            return fused_qkv();
        case Op::kFusedFFN:
            return fused_ffn();
        case Op::kInput:
        case Op::kView:
        case Op::kReshape:
            break;
    }
    return fail(ErrorKind::kUnsupported, "nothing to execute");
}

void Compiler::unary(std::string_view name, Unary op) {
    const uint32_t width = node_->shape.last(), rows = uint32_t(node_->shape.count() / width);
    step(std::string(name), [&k = backend_.kernels(), op, x = in(0, width), y = out(width), rows,
                             width](Worker& w) { op(k, w, x, y, rows, width); });
}

void Compiler::elementwise(std::string_view name, Elementwise op) {
    const uint32_t width = node_->shape.last(), rows = uint32_t(node_->shape.count() / width);
    step(std::string(name), [&k = backend_.kernels(), op, a = in(0, width), b = in(1, width), y = out(width),
                             rows, width](Worker& w) { op(k, w, a, b, y, rows, width); });
}

Result<const float*> Compiler::gain(size_t role) const {
    const float* values = backend_.vector(node_->weights[role]);
    if (values == nullptr) {
        return fail(ErrorKind::kNotFound, "the gain '{}' was not prepared",
                    graph_.weights()[node_->weights[role]].name);
    }
    return values;
}

Result<void> Compiler::rms_norm() {
    INGOT_ASSIGN(const float* const g, gain(0));
    const uint32_t rows = node_->shape[0], width = node_->shape[1];
    step("rms_norm", [&k = backend_.kernels(), g, x = in(0, width), y = out(width), rows, width,
                      epsilon = node_->as<graph::NormAttrs>().epsilon](Worker& w) {
        cpu::rms_norm(k, w, x, g, y, rows, width, epsilon);
    });
    return {};
}

Result<void> Compiler::qk_norm() {
    INGOT_ASSIGN(const float* const g, gain(0));
    const uint32_t rows = node_->shape[0], heads = node_->shape[1], dim = node_->shape[2];
    step("qk_norm", [&k = backend_.kernels(), g, x = in(0, size_t(heads) * dim), y = out(size_t(heads) * dim),
                     rows, heads, dim, epsilon = node_->as<graph::NormAttrs>().epsilon](Worker& w) {
        cpu::qk_norm(k, w, x, g, y, rows, heads, dim, epsilon);
    });
    return {};
}

Result<MatMulOutput> Compiler::output_of(size_t weight_role, std::optional<size_t> bias_role,
                                         float* y) const {
    const PackedMatrix* matrix = backend_.matrix(node_->weights[weight_role]);
    if (matrix == nullptr) {
        return fail(ErrorKind::kNotFound, "the matrix '{}' was not prepared",
                    graph_.weights()[node_->weights[weight_role]].name);
    }
    const float* bias = nullptr;
    if (bias_role && node_->weights[*bias_role].valid()) {
        INGOT_ASSIGN(bias, gain(*bias_role));
    }
    return MatMulOutput{matrix, y, matrix->rows(), bias};
}

Result<void> Compiler::multiply(std::vector<MatMulOutput> outputs, std::vector<size_t> workspace_outputs,
                                size_t offset) {
    const uint32_t tokens = shape_of(0)[0], cols = shape_of(0)[1];
    INGOT_TRY(backend_.reserve_workspace(offset +
                                         mat_mul_workspace_bytes(outputs, tokens, backend_.num_threads())));
    std::string name = "mat_mul";
    for (const MatMulOutput& output : outputs) {
        if (name.find(output.weights->kernel().name) == name.npos)
            name += fmt::format(" {}", output.weights->kernel().name);
    }
    step(name, [&b = backend_, outputs, workspace_outputs, offset, x = in(0, cols), tokens](Worker& w) {
        std::array<MatMulOutput, 3> placed;
        std::copy(outputs.begin(), outputs.end(), placed.begin());
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (placed[i].y == nullptr)
                placed[i].y = reinterpret_cast<float*>(b.workspace() + workspace_outputs[i]);
        }
        cpu::mat_mul(w, std::span(placed).first(outputs.size()), x.data, x.stride, tokens,
                     b.workspace() + offset);
    });
    return {};
}

Result<void> Compiler::mat_mul() {
    INGOT_ASSIGN(const MatMulOutput output, output_of(0, 1, floats(bound_->out)));
    return multiply({output}, {0}, 0);
}

// gate goes to the result's memory, up to the workspace; then the activation joins them in place.
Result<void> Compiler::fused_ffn() {
    const uint32_t rows = node_->shape[0], width = node_->shape[1];
    INGOT_ASSIGN(const MatMulOutput gate, output_of(0, {}, floats(bound_->out)));
    INGOT_ASSIGN(const MatMulOutput up, output_of(1, {}, nullptr));
    INGOT_TRY(multiply({gate, up}, {0, 0}, aligned(size_t(rows) * width * sizeof(float))));
    const bool silu = node_->as<graph::FfnAttrs>().activation == graph::Activation::kSilu;
    step(silu ? "swiglu" : "geglu", [&b = backend_, silu, y = out(width), rows, width](Worker& w) {
        const ConstRows second{reinterpret_cast<const float*>(b.workspace()), width};
        (silu ? cpu::swiglu : cpu::geglu)(b.kernels(), w, y, second, y, rows, width);
    });
    return {};
}

// Before each execution: every index in the input lies in [0, limit).
void Compiler::check_range(size_t role, uint32_t limit, std::string_view what) {
    const std::span<const int32_t> values = ints(role);
    if (!checked_.emplace(values.data(), values.size(), limit).second) return;
    program_->prologue_.push_back([values, limit, what, label = graph_.label(bound_->id)] {
        return check_indices(values, limit, label, what);
    });
}

Result<void> Compiler::get_rows() {
    const uint32_t rows = node_->shape[0], cols = node_->shape[1];
    const int32_t* ids = ints(0).data();
    if (node_->weights[0].valid()) {
        const graph::Weight& table = graph_.weights()[node_->weights[0]];
        check_range(0, table.rows, "row");
        step(fmt::format("get_rows {}", traits(table.type).name),
             [&b = backend_, &table, id = node_->weights[0], cols, ids, rows, y = out(cols)](Worker& w) {
                 for (uint32_t first = 0; first < rows; first += kTableRowsAtOnce) {
                     const uint32_t count = std::min(kTableRowsAtOnce, rows - first);
                     cpu::get_rows(w, table.type, table.data.data(), cols, ids + first, count,
                                   {y.data + first * y.stride, y.stride});
                     if (w.index() == 0) b.has_read_rows(table, id, count);
                 }
             });
        return {};
    }
    check_range(0, shape_of(1)[0], "row");
    step("get_rows", [x = in(1, cols), y = out(cols), ids, rows, cols](Worker& w) {
        const Range range = split_evenly(rows, w);
        for (size_t i = range.begin; i < range.end; ++i) {
            std::copy_n(x.data + size_t(ids[i]) * cols, cols, y.data + i * cols);
        }
    });
    return {};
}

Result<void> Compiler::permute() {
    const Shape& from = shape_of(0);
    const auto& axes = node_->as<graph::PermuteAttrs>().axes;
    const std::array<size_t, 3> strides = {size_t(from[1]) * from[2], from[2], 1};
    const std::array<size_t, 3> stride = {strides[axes[0]], strides[axes[1]], strides[axes[2]]};
    step("permute",
         [x = floats(bound_->inputs[0]), y = floats(bound_->out), to = node_->shape, stride](Worker& w) {
             const Range range = split_evenly(size_t(to[0]) * to[1], w);
             for (size_t i = range.begin; i < range.end; ++i) {
                 const float* row = x + i / to[1] * stride[0] + i % to[1] * stride[1];
                 for (size_t c = 0; c < to[2]; ++c) y[i * to[2] + c] = row[c * stride[2]];
             }
         });
    return {};
}

}  // namespace ingot::cpu
