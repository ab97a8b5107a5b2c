// A Metal device as a backend: shared buffers, weights in place (weight_store.h), KV regions, and programs
// whose nodes are dispatches of our kernels (kernels/, metal_program.h) in one command buffer for each run.
// Whatever a kernel can't serve is refused when a graph is built or bound; nothing ever runs on the CPU
// instead.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "llm/backend/backend.h"
#include "llm/backend/kv_shape.h"
#include "llm/backend/metal/command_stream.h"
#include "llm/backend/metal/kernel_options.h"
#include "llm/backend/metal/weight_store.h"

namespace ingot::mtl {

struct KvRegion : KvShape {
    NS::SharedPtr<MTL::Buffer> side[2];  // by KvSide
};

class MetalBackend final : public Backend {
  public:
    // How long a run may take, and tokens of a graph that takes no longer. The virtual device compiles a
    // kernel's variants while a run waits for them, and shares its processor.
#ifdef __APPLE__
    static constexpr double kWaitSeconds = 10;
    static constexpr uint32_t kMaxTokens = 1u << 16;
#else
    static constexpr double kWaitSeconds = 60;
    static constexpr uint32_t kMaxTokens = 32;
#endif
    struct Options {
        // Mapped parts of the model's file, whose weights are used in place; they outlive the backend.
        std::vector<std::span<const std::byte>> mappings = {};
        KernelOptions kernels = {};
        // Most memory that weights, cells and buffers may take; 0: what the device recommends. A device that
        // recommends nothing has no limit.
        uint64_t memory_bytes = 0;
        // How long one run may take.
        double wait_seconds = kWaitSeconds;
        bool profile = false;                          // times encoding, for profile()
        std::optional<uint64_t> without_barrier = {};  // CommandStream::Options
    };
    static Result<std::unique_ptr<MetalBackend>> create(Options options);
    // On a device of the caller's, which outlives the backend.
    static std::unique_ptr<MetalBackend> create_on(Device& device, Options options);

    std::string_view name() const override { return "metal"; }
    std::string description() const override;

    Result<void> supports_op(const graph::Graph& graph, const graph::Node& node) const override;
    Result<BufferId> alloc_buffer(size_t size_bytes) override;
    Result<BufferId> alloc_fresh(size_t size_bytes) override;
    void free_buffer(BufferId buffer) override;
    Result<void> write(BufferId buffer, size_t offset_bytes, std::span<const std::byte> data) override;
    Result<void> read(BufferId buffer, size_t offset_bytes, std::span<std::byte> data) override;
    const std::byte* host_view(BufferId buffer) const override { return buffer_data(buffer); }
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
    Result<void> synchronize() override { return stream_.submit(); }
    Memory memory() const override;
    std::string profile() const override { return stream_.profile(); }

    // How often each kernel was dispatched, by name. For tests and profiles.
    const std::map<std::string, uint64_t>& kernel_counts() const { return stream_.stats().kernels; }
    const CommandStream::Stats& stream_stats() const { return stream_.stats(); }
    uint64_t budget_bytes() const { return budget_bytes_; }  // 0: no limit
    uint64_t copied_weight_bytes() const { return weights_.copied_bytes(); }

    // For programs (metal_compiler.h).
    Device& device() { return *device_; }
    const KernelOptions& options() const { return options_; }
    const WeightStore& weights() const { return weights_; }
    Bound bound(const BufferRef& ref) const { return {buffers_[ref.buffer.index()].get(), ref.offset_bytes}; }
    std::byte* buffer_data(BufferId buffer) const {
        return static_cast<std::byte*>(buffers_[buffer.index()]->contents());
    }
    const KvRegion* kv_region(uint32_t layer) const;
    // Memory that a program holds, zeroed; counted as long as it lives.
    Result<std::shared_ptr<MTL::Buffer>> program_buffer(size_t size_bytes, std::string_view what);
    // The same, at least so large, for what dispatches hand to each other; shared by all programs.
    Result<std::shared_ptr<MTL::Buffer>> scratch(size_t size_bytes);

  private:
    MetalBackend(Device& device, Options options)
        : device_(&device),
          options_(options.kernels),
          weights_(*device_, options_.weights == WeightsChoice::kMapped
                                 ? std::move(options.mappings)
                                 : std::vector<std::span<const std::byte>>()),
          budget_bytes_(options.memory_bytes != 0 ? options.memory_bytes
                                                  : device->recommendedMaxWorkingSetSize()),
          stream_(*device_, {options.wait_seconds, options.profile, options.without_barrier}) {}

    // An Error with the numbers if so much more doesn't fit the budget.
    Result<void> reserve(uint64_t size_bytes, std::string_view what) const;
    Result<std::span<std::byte>> kv_rows(uint32_t layer, KvSide side, uint32_t first_cell,
                                         size_t size_bytes) const;

    Device* const device_;
    const KernelOptions options_;
    WeightStore weights_;
    const graph::WeightTable* weight_table_ = nullptr;  // the one whose ids the store knows
    std::vector<NS::SharedPtr<MTL::Buffer>> buffers_;
    std::multimap<size_t, BufferId> free_;
    std::map<uint32_t, KvRegion> kv_;
    std::vector<std::weak_ptr<MTL::Buffer>> program_buffers_;
    std::shared_ptr<MTL::Buffer> scratch_;
    const uint64_t budget_bytes_;  // 0: no limit
    CommandStream stream_;         // last: what is pending ends before the memory goes
};

}  // namespace ingot::mtl
