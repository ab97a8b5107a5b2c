#include "llm/backend/metal/metal_backend.h"

#include <chrono>
#include <cstring>

#include "base/check.h"
#include "llm/backend/metal/metal_program.h"

namespace ingot::mtl {

using graph::Node;

Result<std::unique_ptr<MetalBackend>> MetalBackend::create(Options options) {
    INGOT_ASSIGN(Device* const device, Device::shared());
    return create_on(*device, std::move(options));
}

std::unique_ptr<MetalBackend> MetalBackend::create_on(Device& device, Options options) {
    return std::unique_ptr<MetalBackend>(new MetalBackend(device, std::move(options)));
}

std::string MetalBackend::description() const {
    return fmt::format("metal ({})", device_->name());
}

Result<BufferId> MetalBackend::alloc_buffer(size_t size_bytes) {
    if (const auto found = free_.find(size_bytes); found != free_.end()) {
        const BufferId buffer = found->second;
        free_.erase(found);
        return buffer;
    }
    return alloc_fresh(size_bytes);
}

Result<void> MetalBackend::reserve(uint64_t size_bytes, std::string_view what) const {
    const Memory taken = memory();
    const uint64_t all = taken.weight_bytes + taken.kv_bytes + taken.buffer_bytes;
    if (budget_bytes_ == 0 || all + size_bytes <= budget_bytes_) return {};
    return fail(ErrorKind::kLimit,
                "{} bytes for {} don't fit the Metal device's {}: weights take {}, KV cells {}, buffers {}",
                size_bytes, what, budget_bytes_, taken.weight_bytes, taken.kv_bytes, taken.buffer_bytes);
}

Result<BufferId> MetalBackend::alloc_fresh(size_t size_bytes) {
    INGOT_TRY(reserve(size_bytes, "a buffer"));
    INGOT_ASSIGN(auto buffer, device_->new_buffer(size_bytes));
    buffers_.push_back(std::move(buffer));
    return BufferId(uint32_t(buffers_.size() - 1));
}

void MetalBackend::free_buffer(BufferId buffer) {
    free_.emplace(buffers_[buffer.index()]->length(), buffer);
}

Result<void> MetalBackend::write(BufferId buffer, size_t offset_bytes, std::span<const std::byte> data) {
    const size_t length = buffers_[buffer.index()]->length();
    INGOT_CHECK(offset_bytes + data.size() <= length, "{} bytes at {} into {}", data.size(), offset_bytes,
                length);
    INGOT_TRY(synchronize());  // pending work may still read what was there
    std::memcpy(buffer_data(buffer) + offset_bytes, data.data(), data.size());
    return {};
}

Result<void> MetalBackend::read(BufferId buffer, size_t offset_bytes, std::span<std::byte> data) {
    const size_t length = buffers_[buffer.index()]->length();
    INGOT_CHECK(offset_bytes + data.size() <= length, "{} bytes at {} from {}", data.size(), offset_bytes,
                length);
    INGOT_TRY(synchronize());
    std::memcpy(data.data(), buffer_data(buffer) + offset_bytes, data.size());
    return {};
}

Result<void> MetalBackend::prepare_weights(const graph::Graph& graph, graph::BackendId self,
                                           const Progress& progress) {
    const graph::WeightTable& table = graph.weights();
    INGOT_CHECK(weight_table_ == nullptr || weight_table_ == &table,
                "a backend serves the weights of one engine");
    weight_table_ = &table;
    for (const Node& node : graph.nodes()) {
        if (node.backend != self) continue;
        for (graph::WeightId id : node.weights) {
            if (!id.valid()) continue;
            const graph::Weight& weight = table[id];
            const WeightFormat* format = weight_format(weight.type);
            if (format == nullptr || weight.data.empty()) {
                return fail(ErrorKind::kInvalidArgument, "tensor '{}' has {}", weight.name,
                            weight.data.empty() ? "no data" : "a type that no kernel reads");
            }
            if (weights_.find(id).buffer != nullptr) continue;
            INGOT_TRY(reserve(weight.data.size(), fmt::format("'{}'", weight.name)));
            INGOT_TRY(weights_.add(weight, id, format->alignment_bytes));
        }
    }
    if (progress && !progress(weights_.size_bytes(), weights_.size_bytes()))
        return fail(ErrorKind::kCancelled, "loading was cancelled");
    return {};
}

Result<void> MetalBackend::ensure_kv(std::span<const KvLayer> layers, kv::Format format, uint32_t num_cells) {
    for (const KvLayer& layer : layers) {
        const KvRegion* existing = kv_region(layer.layer);
        KvRegion region{{layer, format, num_cells}, {}};
        INGOT_TRY(check_kv_shape(region, existing));
        if (existing != nullptr) continue;
        INGOT_TRY(reserve(2 * region.size_bytes(), fmt::format("the KV cells of layer {}", layer.layer)));
        for (auto& side : region.side) {
            INGOT_ASSIGN(side, device_->new_buffer(std::max<size_t>(1, region.size_bytes())));
        }
        kv_.emplace(layer.layer, std::move(region));
    }
    return {};
}

const KvRegion* MetalBackend::kv_region(uint32_t layer) const {
    const auto found = kv_.find(layer);
    return found == kv_.end() ? nullptr : &found->second;
}

Result<std::span<std::byte>> MetalBackend::kv_rows(uint32_t layer, KvSide side, uint32_t first_cell,
                                                   size_t size_bytes) const {
    const KvRegion* region = kv_region(layer);
    if (region == nullptr) return fail(ErrorKind::kNotFound, "layer {} has no KV cells on metal", layer);
    INGOT_ASSIGN(const size_t offset, kv_rows_offset(*region, first_cell, size_bytes));
    return std::span(static_cast<std::byte*>(region->side[size_t(side)]->contents()) + offset, size_bytes);
}

Result<void> MetalBackend::read_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                   std::span<std::byte> rows) {
    INGOT_ASSIGN(const auto cells, kv_rows(layer, side, first_cell, rows.size()));
    INGOT_TRY(synchronize());
    std::memcpy(rows.data(), cells.data(), cells.size());
    return {};
}

Result<void> MetalBackend::write_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                    std::span<const std::byte> rows) {
    INGOT_ASSIGN(const auto cells, kv_rows(layer, side, first_cell, rows.size()));
    INGOT_TRY(synchronize());
    std::memcpy(cells.data(), rows.data(), cells.size());
    return {};
}

Result<std::shared_ptr<MTL::Buffer>> MetalBackend::program_buffer(size_t size_bytes, std::string_view what) {
    INGOT_TRY(reserve(size_bytes, what));
    INGOT_ASSIGN(const auto buffer, device_->new_buffer(size_bytes));
    const std::shared_ptr<MTL::Buffer> shared(buffer.get(), [buffer](MTL::Buffer*) {});
    std::erase_if(program_buffers_, [](const auto& held) { return held.expired(); });
    program_buffers_.push_back(shared);
    return shared;
}

Result<std::shared_ptr<MTL::Buffer>> MetalBackend::scratch(size_t size_bytes) {
    if (!scratch_ || scratch_->length() < size_bytes) {
        INGOT_ASSIGN(scratch_, program_buffer(size_bytes, "scratch memory"));
    }
    return scratch_;
}

Result<std::unique_ptr<Program>> MetalBackend::prepare(const graph::Graph& graph,
                                                       std::vector<BoundNode> nodes) {
    INGOT_ASSIGN(auto program, MetalProgram::compile(*this, graph, nodes));
    return program;
}

Result<void> MetalBackend::execute(Program& program, const NodeObserver* observer) {
    auto& compiled = static_cast<MetalProgram&>(program);
    INGOT_TRY(synchronize());  // the prologue writes what pending work may still read
    for (const auto& check : compiled.prologue()) INGOT_TRY(check());
    const std::span<const Step> steps = compiled.steps();
    if (observer == nullptr) {
        for (const Step& step : steps) stream_.encode(step.dispatch);
        return {};
    }
    for (size_t first = 0, end = 0; first < steps.size(); first = end) {
        const graph::NodeId node = steps[first].node;
        const auto start = std::chrono::steady_clock::now();
        for (; end < steps.size() && steps[end].node == node; ++end) stream_.encode(steps[end].dispatch);
        INGOT_TRY(synchronize());
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        (*observer)(node, seconds.count(), compiled.values(node));
    }
    return {};
}

Backend::Memory MetalBackend::memory() const {
    Memory memory;
    memory.weight_bytes = weights_.size_bytes();
    for (const auto& [layer, region] : kv_) memory.kv_bytes += 2 * region.size_bytes();
    for (const auto& buffer : buffers_) memory.buffer_bytes += buffer->length();
    for (const auto& held : program_buffers_) {
        if (const auto buffer = held.lock()) memory.buffer_bytes += buffer->length();
    }
    return memory;
}

}  // namespace ingot::mtl
