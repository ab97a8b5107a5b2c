#include "llm/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <system_error>

#include "base/check.h"
#include "llm/backend/cpu/cpu_program.h"

namespace ingot::cpu {

using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::WeightId;

Result<Block> Block::make(size_t size_bytes) {
    constexpr size_t kAlignment = 64;
    Block block;
    block.owned_.reset(static_cast<std::byte*>(std::calloc(size_bytes + kAlignment, 1)));
    if (block.owned_ == nullptr) return fail(ErrorKind::kLimit, "no memory for {} bytes", size_bytes);
    const auto address = reinterpret_cast<uintptr_t>(block.owned_.get());
    block.data_ = block.owned_.get() + (kAlignment - address % kAlignment) % kAlignment;
    block.size_ = size_bytes;
    return block;
}

namespace {

// Weights that the node multiplies by, as opposed to vectors and the tables that rows are taken from.
std::span<const WeightId> matrices_of(const Node& node) {
    switch (node.op) {
        case Op::kMatMul:
            return std::span(node.weights).first(1);
        case Op::kFusedQKV:
        case Op::kFusedQkvNorm:
            return std::span(node.weights).first(3);
        case Op::kFusedFFN:
            return std::span(node.weights).first(2);
        default:
            return {};
    }
}

std::span<const WeightId> vectors_of(const Node& node) {
    if (node.op == Op::kGetRows) return {};
    return std::span(node.weights).subspan(matrices_of(node).size());
}

}  // namespace

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const Options& options) {
    INGOT_ASSIGN(const Isa isa, options.isa.empty() ? choose_isa() : choose_isa(options.isa));
    const uint32_t threads = options.threads == 0 ? num_available_cores() : options.threads;
    try {
        return std::unique_ptr<CpuBackend>(new CpuBackend(isa, threads, options.on_packed));
    } catch (const std::system_error& e) {
        return fail(ErrorKind::kLimit, "the system gives this process no {} threads ({}); fewer are accepted",
                    threads, e.code().message());
    }
}

std::string CpuBackend::description() const {
    return fmt::format("cpu ({})", to_string(kernels_.isa));
}

Result<void> CpuBackend::supports_op(const graph::Graph& graph, const Node& node) const {
    for (WeightId id : matrices_of(node)) {
        const graph::Weight& weight = graph.weights()[id];
        if (kernels_.mat_mul(weight.type) != nullptr) continue;
        std::string accepted;
        for (const QuantTraits& row : all_quant_types()) {
            if (kernels_.mat_mul(row.type) != nullptr) accepted += fmt::format(" {}", row.name);
        }
        return fail(ErrorKind::kUnsupported, "'{}' is {}; the {} matrix kernels accept{}", weight.name,
                    traits(weight.type).name, to_string(kernels_.isa), accepted);
    }
    return {};
}

Result<BufferId> CpuBackend::alloc_buffer(size_t size_bytes) {
    if (const auto found = free_.find(size_bytes); found != free_.end()) {
        const BufferId buffer = found->second;
        free_.erase(found);
        return buffer;
    }
    return alloc_fresh(size_bytes);
}

Result<BufferId> CpuBackend::alloc_fresh(size_t size_bytes) {
    INGOT_ASSIGN(Block block, Block::make(size_bytes));
    buffers_.push_back(std::move(block));
    return BufferId(uint32_t(buffers_.size() - 1));
}

void CpuBackend::free_buffer(BufferId buffer) {
    free_.emplace(buffers_[buffer.index()].size(), buffer);
}

Result<void> CpuBackend::write(BufferId buffer, size_t offset_bytes, std::span<const std::byte> data) {
    const Block& block = buffers_[buffer.index()];
    INGOT_CHECK(offset_bytes + data.size() <= block.size(), "{} bytes at {} into {}", data.size(),
                offset_bytes, block.size());
    std::memcpy(block.data() + offset_bytes, data.data(), data.size());
    return {};
}

Result<void> CpuBackend::read(BufferId buffer, size_t offset_bytes, std::span<std::byte> data) {
    const Block& block = buffers_[buffer.index()];
    INGOT_CHECK(offset_bytes + data.size() <= block.size(), "{} bytes at {} from {}", data.size(),
                offset_bytes, block.size());
    std::memcpy(data.data(), block.data() + offset_bytes, data.size());
    return {};
}

Result<void> CpuBackend::prepare_matrix(const graph::WeightTable& weights, WeightId id) {
    const graph::Weight& w = weights[id];
    auto packed = PackedMatrix::prepare(kernels_, w.type, w.rows, w.cols, w.data,
                                        {.storage = packed_storage_, .pool = &pool_, .copied = on_packed_});
    if (!packed) return Failure(with_context(packed.error(), fmt::format("tensor '{}'", w.name)));
    matrices_.emplace(id, *std::move(packed));
    return {};
}

Result<void> CpuBackend::prepare_weights(const graph::Graph& graph, graph::BackendId self,
                                         const Progress& progress) {
    const graph::WeightTable& weights = graph.weights();
    INGOT_CHECK(weights_ == nullptr || weights_ == &weights, "a backend serves the weights of one engine");
    weights_ = &weights;
    std::vector<WeightId> matrices;  // in order of use, so that execution reads memory forwards
    std::set<WeightId> seen;
    uint64_t total = 0, done = 0;
    for (const Node& node : graph.nodes()) {
        if (node.backend != self) continue;
        for (WeightId id : node.weights) {
            if (id.valid() && weights[id].data.empty()) {
                return fail(ErrorKind::kInvalidArgument, "tensor '{}' has no data", weights[id].name);
            }
        }
        for (WeightId id : matrices_of(node)) {
            if (matrices_.contains(id) || !seen.insert(id).second) continue;
            matrices.push_back(id);
            total += weights[id].data.size();
        }
        for (WeightId id : vectors_of(node)) {
            if (!id.valid() || vectors_.contains(id)) continue;
            std::vector<float>& values = vectors_[id];
            values.resize(weights[id].cols);  // F32, as the shape rules demand; copied, so that it is aligned
            std::memcpy(values.data(), weights[id].data.data(), weights[id].data.size());
        }
    }
    for (WeightId id : matrices) {
        INGOT_TRY(prepare_matrix(weights, id));
        done += weights[id].data.size();
        if (progress && !progress(done, total)) return fail(ErrorKind::kCancelled, "loading was cancelled");
    }
    return {};
}

const PackedMatrix* CpuBackend::matrix(WeightId id) const {
    const auto found = matrices_.find(id);
    return found == matrices_.end() ? nullptr : &found->second;
}

const float* CpuBackend::vector(WeightId id) const {
    const auto found = vectors_.find(id);
    return found == vectors_.end() ? nullptr : found->second.data();
}

void CpuBackend::has_read_rows(const graph::Weight& table, WeightId id, uint32_t count) {
    const PackedMatrix* multiplied = matrix(id);
    if (!on_packed_ || (multiplied != nullptr && !multiplied->is_packed())) return;
    rows_read_ += count;
    if (rows_read_ < kTableRowsAtOnce) return;
    rows_read_ = 0;
    on_packed_(table.data);
}

Result<void> CpuBackend::ensure_kv(std::span<const KvLayer> layers, kv::Format format, uint32_t num_cells) {
    for (const KvLayer& layer : layers) {
        const KvRegion* existing = kv_region(layer.layer);
        KvRegion region{{layer, format, num_cells}, {}};
        INGOT_TRY(check_kv_shape(region, existing));
        if (existing != nullptr) continue;
        for (auto& side : region.side) {
            INGOT_ASSIGN(side, Block::make(region.size_bytes()));
        }
        kv_.emplace(layer.layer, std::move(region));
    }
    return {};
}

const KvRegion* CpuBackend::kv_region(uint32_t layer) const {
    const auto found = kv_.find(layer);
    return found == kv_.end() ? nullptr : &found->second;
}

Result<std::span<std::byte>> CpuBackend::kv_rows(uint32_t layer, KvSide side, uint32_t first_cell,
                                                 size_t size_bytes) const {
    const KvRegion* region = kv_region(layer);
    if (region == nullptr) return fail(ErrorKind::kNotFound, "layer {} has no KV cells on the cpu", layer);
    INGOT_ASSIGN(const size_t offset, kv_rows_offset(*region, first_cell, size_bytes));
    return std::span(region->side[size_t(side)].data() + offset, size_bytes);
}

Result<void> CpuBackend::read_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                 std::span<std::byte> rows) {
    INGOT_ASSIGN(const auto cells, kv_rows(layer, side, first_cell, rows.size()));
    std::memcpy(rows.data(), cells.data(), cells.size());
    return {};
}

Result<void> CpuBackend::write_kv(uint32_t layer, KvSide side, uint32_t first_cell,
                                  std::span<const std::byte> rows) {
    INGOT_ASSIGN(const auto cells, kv_rows(layer, side, first_cell, rows.size()));
    std::memcpy(cells.data(), rows.data(), cells.size());
    return {};
}

Result<void> CpuBackend::reserve_workspace(size_t size_bytes) {
    if (size_bytes <= workspace_.size()) return {};
    INGOT_ASSIGN(workspace_, Block::make(size_bytes));
    return {};
}

Result<std::unique_ptr<Program>> CpuBackend::prepare(const graph::Graph& graph,
                                                     std::vector<BoundNode> nodes) {
    INGOT_ASSIGN(auto program, CpuProgram::compile(*this, graph, nodes));
    return program;
}

Result<void> CpuBackend::execute(Program& program, const NodeObserver* observer) {
    const auto& compiled = static_cast<const CpuProgram&>(program);
    for (const auto& check : compiled.prologue()) INGOT_TRY(check());
    const std::span<const Step> steps = compiled.steps();
    for (const Step& step : steps) ++*step.count;
    if (observer == nullptr) {
        pool_.run([&](Worker& worker) {
            for (size_t i = 0; i < steps.size(); ++i) {
                if (i > 0) worker.barrier();
                steps[i].run(worker);
            }
        });
        return {};
    }
    for (size_t first = 0; first < steps.size();) {
        size_t end = first;
        const auto start = std::chrono::steady_clock::now();
        for (; end < steps.size() && steps[end].node == steps[first].node; ++end) pool_.run(steps[end].run);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        (*observer)(steps[first].node, seconds.count(), compiled.values(steps[first].node));
        first = end;
    }
    return {};
}

Backend::Memory CpuBackend::memory() const {
    Memory memory;
    for (const auto& [id, matrix] : matrices_) memory.weight_bytes += matrix.storage_bytes();
    for (const auto& [id, values] : vectors_) memory.weight_bytes += values.size() * sizeof(float);
    for (const auto& [layer, region] : kv_) memory.kv_bytes += 2 * region.size_bytes();
    for (const Block& block : buffers_) memory.buffer_bytes += block.size();
    memory.buffer_bytes += workspace_.size();
    return memory;
}

}  // namespace ingot::cpu
