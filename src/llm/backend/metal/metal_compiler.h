// Turns bound nodes into the dispatches of a MetalProgram, one private function per op. Plain ops and matrix
// products are in metal_compiler.cpp, whatever concerns positions and KV cells in metal_compiler_kv.cpp.
#pragma once

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "llm/backend/cell_spans.h"
#include "llm/backend/metal/kernel_args.h"
#include "llm/backend/metal/metal_backend.h"
#include "llm/backend/metal/metal_program.h"

namespace ingot::mtl {

class Compiler {
  public:
    Compiler(MetalBackend& backend, const graph::Graph& graph) : backend_(backend), graph_(graph) {}

    Result<void> node(const BoundNode& bound);
    Result<std::unique_ptr<MetalProgram>> finish();

  private:
    struct Grid {
        uint32_t x = 1, y = 1, z = 1;
        bool threads = false;  // else threadgroups
    };
    static Grid groups(uint32_t x, uint32_t y = 1, uint32_t z = 1) { return {x, y, z, false}; }
    static Grid threads(uint32_t x, uint32_t y = 1, uint32_t z = 1) { return {x, y, z, true}; }

    // Appends a dispatch; returns its index among the program's steps.
    Result<size_t> dispatch(const KernelId& kernel, std::vector<Bound> buffers,
                            std::span<const std::byte> bytes, Grid grid);
    template <typename Args>
    Result<size_t> dispatch(const KernelId& kernel, std::vector<Bound> buffers, const Args& args, Grid grid) {
        return dispatch(kernel, std::move(buffers), std::as_bytes(std::span(&args, 1)), grid);
    }
    Result<size_t> dispatch(const KernelId& kernel, std::vector<Bound> buffers, Grid grid) {
        return dispatch(kernel, std::move(buffers), std::span<const std::byte>(), grid);
    }

    Bound in(size_t role) const { return backend_.bound(bound_->inputs[role]); }
    Bound out() const { return backend_.bound(bound_->out); }
    // An offset into scratch memory, which finish() provides.
    Bound scratch(size_t floats);
    std::span<const int32_t> ints(size_t role) const;
    const graph::Shape& shape_of(size_t role) const { return graph_[node_->inputs[role]].shape; }
    uint32_t count() const { return uint32_t(node_->shape.count()); }
    // The weight of a role; an Error that names it if it isn't on the device.
    Result<Bound> weight(size_t role) const;
    // The same for an optional role: something to bind and never read where it is absent.
    Result<Bound> optional_weight(size_t role, Bound instead) const;
    bool has_weight(size_t role) const { return node_->weights[role].valid(); }
    const graph::Weight& matrix(size_t role) const { return graph_.weights()[node_->weights[role]]; }
    Result<void> is_decode() const;

    Result<void> binary(Family family);
    Result<void> unary(Family family, float parameter = 0.0f);
    Result<void> mat_mul();
    Result<void> generated_mat_mul(const KernelId& kernel, std::vector<Bound> buffers, uint32_t tokens);
    Result<void> get_rows();
    Result<void> rms_norm(Bound x, size_t gain_role, Bound y, uint32_t rows, uint32_t width, float epsilon);
    Result<void> softmax();
    Result<void> permute();
    Result<void> fused_ffn();
    Result<void> fused_qkv();
    Result<void> rope(const graph::RopeParams& params, graph::WeightId factors, size_t positions_role,
                      Bound x, Bound y, uint32_t tokens, uint32_t heads, uint32_t head_dim);
    Result<void> kv_store(const KvRegion& region, Bound k, Bound v, size_t cells_role, uint32_t tokens);
    Result<void> attention();

    Result<const KvRegion*> region(uint32_t layer, uint32_t kv_heads, uint32_t head_dim) const;
    Result<Bound> rope_table_for(const graph::RopeParams& params, graph::WeightId factors,
                                 size_t positions_role);
    // Cells that tokens see, on the device; `spans` is the host's view of the same memory.
    struct Spans {
        Bound place;
        std::span<const CellSpan> spans;
    };
    Result<void> decode_attention(const std::vector<Bound>& buffers, AttentionArgs args, Spans seen,
                                  std::string_view format, uint32_t head_dim);
    Result<void> attention_passes(const std::vector<Bound>& buffers, const AttentionArgs& args, Spans seen,
                                  std::string_view format, uint32_t head_dim, uint32_t num_cells);
    Result<Spans> spans_for(size_t window_role, uint32_t tokens, uint32_t limit, uint32_t num_cells);
    Result<MTL::Buffer*> new_table(size_t size_bytes);
    void check_range(size_t role, uint32_t limit, std::string_view what);

    MetalBackend& backend_;
    const graph::Graph& graph_;
    std::unique_ptr<MetalProgram> program_ = std::make_unique<MetalProgram>();
    const BoundNode* bound_ = nullptr;
    const graph::Node* node_ = nullptr;
    size_t node_scratch_bytes_ = 0, max_scratch_bytes_ = 0;

    struct TableKey {
        const int32_t* positions;
        size_t num_positions;
        graph::WeightId factors;
        graph::RopeParams params;
        bool operator==(const TableKey&) const = default;
    };
    std::vector<std::pair<TableKey, Bound>> tables_;
    std::map<std::tuple<const int32_t*, size_t, uint32_t>, Spans> spans_;
    std::set<std::tuple<const int32_t*, size_t, uint32_t>> checked_;
};

}  // namespace ingot::mtl
