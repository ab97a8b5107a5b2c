// Turns bound nodes into the steps of a CpuProgram, one private function per op. Plain ops and matrix
// products are in cpu_compiler.cpp, whatever concerns positions and KV cells in cpu_compiler_kv.cpp.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "llm/backend/cpu/cpu_backend.h"
#include "llm/backend/cpu/cpu_program.h"

namespace ingot::cpu {

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
    const graph::Shape& shape_of(size_t role) const { return graph_[node_->inputs[role]].shape; }

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
    const float* rope_table_for(const graph::RopeParams& params, graph::WeightId factors,
                                size_t positions_role);
    const std::vector<CellSpan>* spans_for(size_t window_role, uint32_t tokens, uint32_t limit,
                                           uint32_t num_cells);
    void check_range(size_t role, uint32_t limit, std::string_view what);

    CpuBackend& backend_;
    const graph::Graph& graph_;
    std::unique_ptr<CpuProgram> program_ = std::make_unique<CpuProgram>();
    const BoundNode* bound_ = nullptr;
    const graph::Node* node_ = nullptr;

    struct TableKey {
        const int32_t* positions;
        size_t num_positions;
        graph::WeightId factors;
        graph::RopeParams params;
        bool operator==(const TableKey&) const = default;
    };
    std::vector<std::pair<TableKey, const float*>> tables_;
    std::map<std::tuple<const int32_t*, size_t, uint32_t>, const std::vector<CellSpan>*> spans_;
    std::set<std::tuple<const int32_t*, size_t, uint32_t>> checked_;
};

constexpr size_t aligned(size_t size_bytes) {
    return (size_bytes + 63) / 64 * 64;
}

}  // namespace ingot::cpu
