#include "llm/backend/cell_spans.h"
#include "llm/backend/cpu/cpu_compiler.h"

namespace ingot::cpu {

using graph::Op;
using graph::WeightId;

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
    const TableKey key{positions.data(), positions.size(), factors, params};
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
                       .cell_bytes = r->row_bytes(),
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

}  // namespace ingot::cpu
