#include "llm/backend/cpu/cpu_program.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/check.h"
#include "llm/backend/cpu/cell_spans.h"
#include "llm/backend/cpu/cpu_backend.h"

namespace ingot::cpu {

using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::Shape;
using graph::WeightId;

std::span<const float> CpuProgram::values(NodeId node) const {
    const auto found = values_.find(node);
    return found == values_.end() ? std::span<const float>() : found->second;
}

class Compiler {
  public:
    Compiler(CpuBackend& backend, const graph::Graph& graph) : backend_(backend), graph_(graph) {}

    Result<void> node(const BoundNode& bound);
    std::unique_ptr<CpuProgram> finish() { return std::move(program_); }

  private:
    using Elementwise = void (*)(const KernelTable&, Worker&, ConstRows, ConstRows, Rows, uint32_t, uint32_t);
    using Unary = void (*)(const KernelTable&, Worker&, ConstRows, Rows, uint32_t, uint32_t);

    float* floats(const BufferRef& ref) const {
        return reinterpret_cast<float*>(backend_.buffer_data(ref.buffer) + ref.offset_bytes);
    }
    std::span<const int32_t> ints(size_t role) const {
        const BufferRef& ref = bound_->inputs[role];
        return {reinterpret_cast<const int32_t*>(floats(ref)), ref.length};
    }
    // Dense rows of `width`.
    ConstRows in(size_t role, size_t width) const { return {floats(bound_->inputs[role]), width}; }
    Rows out(size_t width) const { return {floats(bound_->out), width}; }
    const Shape& shape_of(size_t role) const { return graph_[node_->inputs[role]].shape; }

    template <typename F>
    void step(std::string kernel, F&& run) {
        program_->steps_.push_back({bound_->id, std::forward<F>(run), backend_.kernel_counter(kernel)});
    }
    void unary(std::string_view name, Unary op);
    void elementwise(std::string_view name, Elementwise op);
    // Fills `outputs` from x; `offset` bytes at the start of the workspace stay untouched.
    Result<void> multiply(std::vector<MatMulOutput> outputs, std::vector<size_t> workspace_outputs,
                          size_t offset);
    Result<MatMulOutput> output_of(size_t weight_role, std::optional<size_t> bias_role, float* y) const;

    Result<void> mat_mul();
    Result<void> fused_ffn();
    Result<void> fused_qkv();
    Result<void> attention();
    Result<void> get_rows();
    Result<void> permute();
    Result<void> rms_norm();
    Result<void> qk_norm();
    Result<void> rope();
    Result<void> kv_store();

    Result<const float*> gain(size_t role) const;
    Result<const KvRegion*> region(uint32_t layer, uint32_t kv_heads, uint32_t head_dim) const;
    const float* rope_table_for(const graph::RopeParams& params, WeightId factors, size_t positions_role);
    const std::vector<CellSpan>* spans_for(size_t window_role, uint32_t tokens, uint32_t limit,
                                           uint32_t num_cells);
    void check_range(size_t role, uint32_t limit, std::string_view what);

    CpuBackend& backend_;
    const graph::Graph& graph_;
    std::unique_ptr<CpuProgram> program_ = std::make_unique<CpuProgram>();
    const BoundNode* bound_ = nullptr;
    const Node* node_ = nullptr;

    struct TableKey {
        const int32_t* positions;
        WeightId factors;
        graph::RopeParams params;
        bool operator==(const TableKey&) const = default;
    };
    std::vector<std::pair<TableKey, const float*>> tables_;
    std::map<std::tuple<const int32_t*, size_t, uint32_t>, const std::vector<CellSpan>*> spans_;
    std::set<std::pair<const int32_t*, uint32_t>> checked_;
};

Result<std::unique_ptr<CpuProgram>> CpuProgram::compile(CpuBackend& backend, const graph::Graph& graph,
                                                        std::span<const BoundNode> nodes) {
    Compiler compiler(backend, graph);
    for (const BoundNode& bound : nodes) {
        if (auto made = compiler.node(bound); !made) {
            return Failure(with_context(made.error(), fmt::format("cpu: {}", graph.label(bound.id))));
        }
    }
    return compiler.finish();
}

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

namespace {
constexpr size_t aligned(size_t size_bytes) {
    return (size_bytes + 63) / 64 * 64;
}
}  // namespace

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

// q goes to the result's memory, k and v to the workspace and from there to the cells.
Result<void> Compiler::fused_qkv() {
    const auto& p = node_->as<graph::QkvAttrs>();
    const uint32_t tokens = node_->shape[0], kv_width = p.kv_heads * p.head_dim;
    INGOT_ASSIGN(const KvRegion* const cells_of_layer, region(p.layer, p.kv_heads, p.head_dim));
    check_range(2, cells_of_layer->num_cells, "KV cell");
    const size_t v_offset = aligned(size_t(tokens) * kv_width * sizeof(float));
    INGOT_ASSIGN(const MatMulOutput q, output_of(0, 3, floats(bound_->out)));
    INGOT_ASSIGN(const MatMulOutput k, output_of(1, 4, nullptr));
    INGOT_ASSIGN(const MatMulOutput v, output_of(2, 5, nullptr));
    // Before the products: making the table is a step of its own, which may use no workspace.
    const float* table = rope_table_for(p.rope, node_->weights[6], 1);
    INGOT_TRY(multiply({q, k, v}, {0, 0, v_offset}, 2 * v_offset));
    const Rows q_rows = out(size_t(p.heads) * p.head_dim);
    const auto k_rows = [&b = backend_, kv_width] {
        return Rows{reinterpret_cast<float*>(b.workspace()), kv_width};
    };
    if (node_->op == Op::kFusedQkvNorm) {
        INGOT_ASSIGN(const float* const q_gain, gain(7));
        INGOT_ASSIGN(const float* const k_gain, gain(8));
        step("qk_norm", [&b = backend_, p, q_rows, k_rows, q_gain, k_gain, tokens](Worker& w) {
            cpu::qk_norm(b.kernels(), w, q_rows, q_gain, q_rows, tokens, p.heads, p.head_dim, p.epsilon);
            cpu::qk_norm(b.kernels(), w, k_rows(), k_gain, k_rows(), tokens, p.kv_heads, p.head_dim,
                         p.epsilon);
        });
    }
    step("rope", [&b = backend_, p, q_rows, k_rows, table, tokens](Worker& w) {
        const uint32_t half = p.rope.dims / 2;
        cpu::rope(b.kernels(), w, p.rope.style, q_rows, table, q_rows, tokens, p.heads, p.head_dim, half);
        cpu::rope(b.kernels(), w, p.rope.style, k_rows(), table, k_rows(), tokens, p.kv_heads, p.head_dim,
                  half);
    });
    step(fmt::format("kv_store {}", kv::traits(cells_of_layer->format).name),
         [&b = backend_, r = cells_of_layer, cells = ints(2).data(), tokens, kv_width, v_offset,
          k_rows](Worker& w) {
             const ConstRows v_rows{reinterpret_cast<const float*>(b.workspace() + v_offset), kv_width};
             cpu::kv_store(b.kernels(), w, k_rows(), tokens, kv_width, cells, r->format, r->side[0].data());
             cpu::kv_store(b.kernels(), w, v_rows, tokens, kv_width, cells, r->format, r->side[1].data());
         });
    return {};
}

Result<const KvRegion*> Compiler::region(uint32_t layer, uint32_t kv_heads, uint32_t head_dim) const {
    const KvRegion* found = backend_.kv_region(layer);
    if (found == nullptr) return fail(ErrorKind::kNotFound, "layer {} has no KV cells here", layer);
    if (found->layer.kv_heads != kv_heads || found->layer.head_dim != head_dim) {
        return fail(ErrorKind::kInvalidArgument, "layer {} has KV cells of {} x {}; {} x {} are accepted",
                    layer, found->layer.kv_heads, found->layer.head_dim, kv_heads, head_dim);
    }
    return found;
}

Result<void> Compiler::kv_store() {
    const auto& p = node_->as<graph::KvAttrs>();
    const uint32_t tokens = shape_of(0)[0], width = p.kv_heads * p.head_dim;
    INGOT_ASSIGN(const KvRegion* const r, region(p.layer, p.kv_heads, p.head_dim));
    check_range(2, r->num_cells, "KV cell");
    step(fmt::format("kv_store {}", kv::traits(r->format).name),
         [&b = backend_, r, k = in(0, width), v = in(1, width), cells = ints(2).data(), tokens,
          width](Worker& w) {
             cpu::kv_store(b.kernels(), w, k, tokens, width, cells, r->format, r->side[0].data());
             cpu::kv_store(b.kernels(), w, v, tokens, width, cells, r->format, r->side[1].data());
         });
    return {};
}

Result<void> Compiler::rope() {
    const uint32_t tokens = node_->shape[0], heads = node_->shape[1], dim = node_->shape[2];
    const auto& p = node_->as<graph::RopeParams>();
    const float* table = rope_table_for(p, node_->weights[0], 1);
    const size_t width = size_t(heads) * dim;
    step("rope", [&b = backend_, p, table, x = in(0, width), y = out(width), tokens, heads, dim](Worker& w) {
        cpu::rope(b.kernels(), w, p.style, x, table, y, tokens, heads, dim, p.dims / 2);
    });
    return {};
}

// The sines and cosines of these positions; made by a step of its own where they are needed first.
const float* Compiler::rope_table_for(const graph::RopeParams& params, WeightId factors,
                                      size_t positions_role) {
    const std::span<const int32_t> positions = ints(positions_role);
    const TableKey key{positions.data(), factors, params};
    for (const auto& [known, table] : tables_) {
        if (known == key) return table;
    }
    const uint32_t half = params.dims / 2;
    const float* divisors = factors.valid() ? backend_.vector(factors) : nullptr;
    const graph::RopeTable made =
        graph::rope_table(params, divisors ? std::span(divisors, half) : std::span<const float>());
    auto& memory = program_->tables_;
    memory.push_back(std::make_unique<std::vector<float>>(made.frequencies));
    const float* frequencies = memory.back()->data();
    memory.push_back(
        std::make_unique<std::vector<float>>(rope_table_floats(half, uint32_t(positions.size()))));
    float* table = memory.back()->data();
    step("rope_table", [frequencies, half, magnitude = made.magnitude, positions, table](Worker& w) {
        cpu::rope_table(w, frequencies, half, magnitude, positions.data(), uint32_t(positions.size()), table);
    });
    tables_.emplace_back(key, table);
    return table;
}

Result<void> Compiler::attention() {
    const auto& p = node_->as<graph::AttnParams>();
    const uint32_t tokens = node_->shape[0];
    const uint32_t layer = graph_[node_->inputs[1]].as<graph::KvAttrs>().layer;
    INGOT_ASSIGN(const KvRegion* const r, region(layer, p.kv_heads, p.head_dim));
    const std::vector<CellSpan>* spans = spans_for(2, tokens, p.window, r->num_cells);
    INGOT_TRY(backend_.reserve_workspace(attention_workspace_bytes(tokens, p.heads, p.kv_heads, p.head_dim,
                                                                   r->num_cells, backend_.num_threads())));
    const size_t width = size_t(p.heads) * p.head_dim;
    AttentionArgs args{.q = floats(bound_->inputs[0]),
                       .q_stride = width,
                       .k = r->side[0].data(),
                       .v = r->side[1].data(),
                       .format = r->format,
                       .out = floats(bound_->out),
                       .out_stride = width,
                       .num_tokens = tokens,
                       .num_heads = p.heads,
                       .num_kv_heads = p.kv_heads,
                       .head_dim = p.head_dim,
                       .scale = p.scale,
                       .softcap = p.softcap,
                       .spans = spans->data(),
                       .spans_per_token = uint32_t(spans->size() / tokens)};
    step(fmt::format("attention {}", kv::traits(r->format).name),
         [&b = backend_, args](Worker& w) { cpu::attention(b.kernels(), w, args, b.workspace()); });
    return {};
}

const std::vector<CellSpan>* Compiler::spans_for(size_t window_role, uint32_t tokens, uint32_t limit,
                                                 uint32_t num_cells) {
    const std::span<const int32_t> window = ints(window_role);
    const std::vector<CellSpan>*& found = spans_[{window.data(), window.size(), limit}];
    if (found != nullptr) return found;
    program_->spans_.push_back(
        std::make_unique<std::vector<CellSpan>>(tokens * spans_per_token(window.size(), tokens)));
    std::vector<CellSpan>* spans = program_->spans_.back().get();
    program_->prologue_.push_back([window, tokens, limit, num_cells, spans] {
        return make_cell_spans(window, tokens, limit, num_cells, *spans);
    });
    return found = spans;
}

// Before each execution: every index in the input lies in [0, limit).
void Compiler::check_range(size_t role, uint32_t limit, std::string_view what) {
    const std::span<const int32_t> values = ints(role);
    if (!checked_.emplace(values.data(), limit).second) return;
    program_->prologue_.push_back([values, limit, what, label = graph_.label(bound_->id)]() -> Result<void> {
        for (int32_t value : values) {
            if (value < 0 || uint32_t(value) >= limit) {
                return fail(ErrorKind::kInvalidArgument, "{}: {} {}; 0 to {} are accepted", label, what,
                            value, limit - 1);
            }
        }
        return {};
    });
}

Result<void> Compiler::get_rows() {
    const uint32_t rows = node_->shape[0], cols = node_->shape[1];
    const int32_t* ids = ints(0).data();
    if (node_->weights[0].valid()) {
        const graph::Weight& table = graph_.weights()[node_->weights[0]];
        check_range(0, table.rows, "row");
        step(fmt::format("get_rows {}", traits(table.type).name),
             [&table, cols, ids, rows, y = out(cols)](Worker& w) {
                 cpu::get_rows(w, table.type, table.data.data(), cols, ids, rows, y);
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
