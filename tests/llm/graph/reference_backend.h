// A backend for tests that computes every op by scalar loops in double, straight from its definition: the
// oracle for real backends, and the second device of split tests. Like a GPU it only records what it is told
// to execute and does the work when something waits for it, so a read that forgets to wait shows stale data.
// It keeps a log.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "llm/backend/backend.h"

namespace ingot::tests {

class ReferenceBackend final : public Backend {
  public:
    explicit ReferenceBackend(std::string name = "reference", std::set<graph::Op> refused = {})
        : name_(std::move(name)), refused_(std::move(refused)) {}

    // "execute rms_norm", "write 2", "read 3", "wait", in order; buffers by index.
    std::vector<std::string> log;
    // Fault injection: reads don't wait for pending work.
    bool forget_to_wait = false;

    std::string_view name() const override { return name_; }
    std::string description() const override { return name_ + " (double)"; }
    Result<void> supports_op(const graph::Graph& graph, const graph::Node& node) const override;
    Result<BufferId> alloc_buffer(size_t size_bytes) override;
    Result<BufferId> alloc_fresh(size_t size_bytes) override { return alloc_buffer(size_bytes); }
    void free_buffer(BufferId) override {}
    Result<void> write(BufferId buffer, size_t offset_bytes, std::span<const std::byte> data) override;
    Result<void> read(BufferId buffer, size_t offset_bytes, std::span<std::byte> data) override;
    Result<void> prepare_weights(const graph::Graph&, graph::BackendId, const Progress&) override {
        return {};
    }
    Result<void> ensure_kv(std::span<const KvLayer> layers, kv::Format format, uint32_t num_cells) override;
    Result<void> read_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                         std::span<std::byte> rows) override;
    Result<void> write_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                          std::span<const std::byte> rows) override;
    Result<std::unique_ptr<Program>> prepare(const graph::Graph& graph,
                                             std::vector<BoundNode> nodes) override;
    Result<void> execute(Program& program, const NodeObserver* observer) override;
    Result<void> synchronize() override;
    Memory memory() const override { return {}; }

  private:
    struct Recorded;
    struct Region {
        KvLayer layer;
        std::vector<float> side[2];  // [cells, kv_heads, head_dim]
    };
    void run_node(const Recorded& program, const BoundNode& bound);
    void store(uint32_t layer, const float* k, const float* v, const int32_t* cells, uint32_t tokens);
    std::vector<float> attend(const graph::Graph& graph, const graph::Node& node, const float* q,
                              const int32_t* window, size_t window_size);
    float* floats(const BufferRef& ref);

    std::string name_;
    std::set<graph::Op> refused_;
    std::vector<std::vector<std::byte>> buffers_;
    std::map<uint32_t, Region> kv_;
    kv::Format format_ = kv::Format::kF32;
    std::vector<std::pair<const Recorded*, BoundNode>> pending_;
};

// Values of a weight, dequantized.
std::vector<float> weight_values(const graph::Weight& weight);

}  // namespace ingot::tests
