// The CPU as a backend: buffers in ordinary memory, weights packed for the kernels of the chosen instruction
// set (kernels/), KV regions, and a thread pool that runs a whole program as one parallel region with a
// barrier between steps. How nodes become steps is in cpu_program.h.
#pragma once

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "llm/backend/backend.h"
#include "llm/backend/cpu/kernels/kernel_table.h"
#include "llm/backend/cpu/kernels/mat_mul.h"
#include "llm/backend/kv_shape.h"

namespace ingot::cpu {

// Zeroed memory, aligned to a cache line; large blocks take no pages before they are touched.
class Block {
  public:
    Block() = default;
    static Result<Block> make(size_t size_bytes);

    std::byte* data() const { return data_; }
    size_t size() const { return size_; }

  private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<std::byte, Free> owned_;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
};

struct KvRegion : KvShape {
    Block side[2];  // by KvSide
};

// Rows of a table that are read before its pages are let go of again. One row can map 2 MiB: Linux keeps a
// file in large pages where it can and maps such a page whole.
constexpr uint32_t kTableRowsAtOnce = 4;

class CpuBackend final : public Backend {
  public:
    struct Options {
        uint32_t threads = 0;  // 0: one per core that this process may use
        // As users write it (kernels/isa.h); empty: the best one, or what INGOT_ISA says.
        std::string isa = {};
        // Called with the parts of tensors that were copied into a layout of our own: these bytes of the file
        // are hardly read any more. Rows of a table (an embedding) still are; it is called again for all of
        // the table after every few of them, since the system maps the neighbours of each page that is
        // touched.
        std::function<void(std::span<const std::byte>)> on_packed = {};
    };
    static Result<std::unique_ptr<CpuBackend>> create(const Options& options);

    std::string_view name() const override { return "cpu"; }
    std::string description() const override;
    uint32_t num_threads() const { return pool_.num_threads(); }
    ThreadPool& pool() { return pool_; }

    Result<void> supports_op(const graph::Graph& graph, const graph::Node& node) const override;
    Result<BufferId> alloc_buffer(size_t size_bytes) override;
    Result<BufferId> alloc_fresh(size_t size_bytes) override;
    void free_buffer(BufferId buffer) override;
    Result<void> write(BufferId buffer, size_t offset_bytes, std::span<const std::byte> data) override;
    Result<void> read(BufferId buffer, size_t offset_bytes, std::span<std::byte> data) override;
    const std::byte* host_view(BufferId buffer) const override { return buffers_[buffer.index()].data(); }
    Result<void> prepare_weights(const graph::Graph& graph, graph::BackendId self,
                                 const Progress& progress) override;
    Result<void> ensure_kv(std::span<const KvLayer> layers, kv::Format format, uint32_t num_cells) override;
    Result<void> read_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                         std::span<std::byte> rows) override;
    Result<void> write_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                          std::span<const std::byte> rows) override;
    Result<std::unique_ptr<Program>> prepare(const graph::Graph& graph,
                                             std::vector<BoundNode> nodes) override;
    Result<void> execute(Program& program, const NodeObserver* observer) override;
    Result<void> synchronize() override { return {}; }
    Memory memory() const override;

    // How often each kernel has run, by name: "mat_mul avx2 q4_0", "attention f16". For tests and profiles.
    const std::map<std::string, uint64_t>& kernel_counts() const { return kernel_counts_; }

    // For programs (cpu_program.h).
    const KernelTable& kernels() const { return kernels_; }
    std::byte* buffer_data(BufferId buffer) const { return buffers_[buffer.index()].data(); }
    const KvRegion* kv_region(uint32_t layer) const;
    const PackedMatrix* matrix(graph::WeightId id) const;
    const float* vector(graph::WeightId id) const;
    // Rows of a table have been read; called by one worker. See Options::on_packed.
    void has_read_rows(const graph::Weight& table, graph::WeightId id, uint32_t count);
    uint64_t* kernel_counter(const std::string& kernel_name) { return &kernel_counts_[kernel_name]; }
    // Memory that one step uses while it runs, shared by all steps of all programs; grows to the largest
    // wish, so its address is only known at run time.
    Result<void> reserve_workspace(size_t size_bytes);
    std::byte* workspace() const { return workspace_.data(); }

  private:
    CpuBackend(Isa isa, uint32_t threads, std::function<void(std::span<const std::byte>)> on_packed)
        : kernels_(kernel_table(isa)), pool_(threads, Contention::kYield), on_packed_(std::move(on_packed)) {}

    Result<void> prepare_matrix(const graph::WeightTable& weights, graph::WeightId id);
    Result<std::span<std::byte>> kv_rows(uint32_t layer, KvSide side, uint32_t first_cell,
                                         size_t size_bytes) const;

    const KernelTable& kernels_;
    ThreadPool pool_;
    const std::function<void(std::span<const std::byte>)> on_packed_;
    std::vector<Block> buffers_;
    std::multimap<size_t, BufferId> free_;
    const graph::WeightTable* weights_ = nullptr;  // the one table that the ids below index
    PackedStorage packed_storage_;
    std::map<graph::WeightId, PackedMatrix> matrices_;
    std::map<graph::WeightId, std::vector<float>> vectors_;
    std::map<uint32_t, KvRegion> kv_;
    Block workspace_;
    uint32_t rows_read_ = 0;  // of tables since they were last let go of
    std::map<std::string, uint64_t> kernel_counts_;
};

}  // namespace ingot::cpu
