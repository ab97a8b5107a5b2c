#include "llm/graph/executor.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "llm/graph/dot.h"
#include "llm/graph/pipeline.h"
#include "llm/graph/text.h"
#include "llm/graph/trace.h"

namespace ingot::graph {

// A compiled graph bound to memory.
struct Executor::Instance {
    explicit Instance(Module compiled) : module(std::move(compiled)) {}

    Module module;
    std::vector<BufferId> buffers;                   // by slot
    std::vector<std::unique_ptr<Program>> programs;  // by split
    uint64_t last_used = 0;

    const Graph& graph() const { return module.graph; }
    BufferRef value(NodeId id) const {
        const ValuePlan& plan = module.allocation->values[id.index()];
        if (!plan.slot.valid()) return {};
        return {buffers[plan.slot.index()], plan.offset_bytes, plan.length};
    }
    BufferRef copy(NodeId id, BackendId on) const {
        const SlotId slot = module.allocation->copies.at({id, on});
        return {buffers[slot.index()], 0, module.allocation->values[id.index()].length};
    }
    // The value where nodes of backend `on` read it.
    BufferRef seen_from(NodeId id, BackendId on) const {
        if (!id.valid() || graph()[id].type == DType::kKv) return {};
        return graph()[id].backend == on ? value(id) : copy(id, on);
    }
};

Executor::Executor(std::vector<Backend*> backends, Build build, ExecutorOptions options)
    : backends_(std::move(backends)), build_(std::move(build)), options_(std::move(options)) {
    if (!options_.trace.empty()) trace_ = std::make_unique<Trace>(options_.trace);
}

Executor::~Executor() = default;

const Graph* Executor::find(const GraphParams& params) const {
    const auto found = instances_.find(params);
    return found == instances_.end() ? nullptr : &found->second->graph();
}

const Module* Executor::find_module(const GraphParams& params) const {
    const auto found = instances_.find(params);
    return found == instances_.end() ? nullptr : &found->second->module;
}

Result<Executor::Instance*> Executor::instance(const GraphParams& params, const Backend::Progress& progress) {
    if (const auto found = instances_.find(params); found != instances_.end()) {
        found->second->last_used = ++clock_;
        return found->second.get();
    }
    INGOT_TRY(check_print_after());
    INGOT_ASSIGN(Graph graph, build_(params));
    if (graph.params() != params) {
        return fail(ErrorKind::kInvalidArgument, "the graph was built for other parameters than asked for");
    }
    const std::vector<const Backend*> backends(backends_.begin(), backends_.end());
    const auto print_pass = [&](std::string_view pass, const Module& module) {
        if (options_.print_after != "all" && options_.print_after != pass) return;
        fmt::print(stderr, "; after {}\n{}", pass, print(module));
    };
    INGOT_ASSIGN(Module compiled,
                 compile(std::move(graph), {backends, options_.first_backend_blocks}, print_pass));
    auto made = std::make_unique<Instance>(std::move(compiled));
    INGOT_TRY(bind(*made, progress));
    INGOT_TRY(dump(made->module));
    evict_if_full();
    ++stats_.graphs_built;
    made->last_used = ++clock_;
    return (instances_[params] = std::move(made)).get();
}

Result<void> Executor::check_print_after() const {
    const std::string& wanted = options_.print_after;
    std::string accepted = "all, build";
    bool known = wanted.empty() || wanted == "all" || wanted == "build";
    for (const Pass& pass : kPipeline) {
        known |= wanted == pass.name;
        accepted += fmt::format(", {}", pass.name);
    }
    if (known) return {};
    return fail(ErrorKind::kInvalidArgument, "no pass is called '{}'; {} are accepted", wanted, accepted);
}

// Graphs are small but prompts come in every length: the least recently used one goes.
void Executor::evict_if_full() {
    constexpr size_t kMaxInstances = 64;
    if (instances_.size() < kMaxInstances) return;
    const auto oldest =
        std::ranges::min_element(instances_, {}, [](const auto& entry) { return entry.second->last_used; });
    if (oldest->second.get() == last_) last_ = nullptr;
    instances_.erase(oldest);
}

Result<void> Executor::bind(Instance& instance, const Backend::Progress& progress) {
    const Graph& graph = instance.graph();
    for (uint32_t b = 0; b < backends_.size(); ++b) {
        INGOT_TRY(backends_[b]->prepare_weights(graph, BackendId(b), progress));
    }
    INGOT_TRY(bind_kv(graph));
    INGOT_TRY(bind_buffers(instance));
    for (const Split& split : *instance.module.splits) {
        std::vector<BoundNode> nodes;
        for (uint32_t i = split.first; i < split.end; ++i) {
            const Node& node = graph[NodeId(i)];
            if (node.op == Op::kInput || is_alias(node.op)) continue;
            BoundNode bound{NodeId(i), instance.value(NodeId(i)), {}};
            for (NodeId in : node.inputs) bound.inputs.push_back(instance.seen_from(in, split.backend));
            nodes.push_back(std::move(bound));
        }
        INGOT_ASSIGN(auto program, backends_[split.backend.index()]->prepare(graph, std::move(nodes)));
        instance.programs.push_back(std::move(program));
    }
    return {};
}

// A layer's cells live on the backend of its KV nodes, for all graphs alike.
Result<void> Executor::bind_kv(const Graph& graph) {
    std::map<BackendId, std::set<KvLayer>> wanted;
    for (const Node& node : graph.nodes()) {
        KvLayer layer;
        if (node.op == Op::kKvcacheStore || node.op == Op::kKvcacheLoad) {
            const auto& a = node.as<KvAttrs>();
            layer = {a.layer, a.kv_heads, a.head_dim};
        } else if (has_effect(node.op)) {
            const auto& a = node.as<QkvAttrs>();
            layer = {a.layer, a.kv_heads, a.head_dim};
        } else {
            continue;
        }
        const BackendId home = kv_homes_.emplace(layer.layer, node.backend).first->second;
        if (home != node.backend) {
            return fail(ErrorKind::kUnsupported,
                        "layer {}: its KV cells are on {}, this graph wants them on {}", layer.layer,
                        backends_[home.index()]->name(), backends_[node.backend.index()]->name());
        }
        wanted[node.backend].insert(layer);
    }
    for (const auto& [backend, layers] : wanted) {
        const std::vector<KvLayer> list(layers.begin(), layers.end());
        INGOT_TRY(backends_[backend.index()]->ensure_kv(list, graph.params().kv_format, options_.kv_cells));
    }
    return {};
}

// Only one graph runs at a time, so all graphs share buffers: each slot takes the smallest one that is large
// enough and that its graph has not taken yet. Copies have buffers of their own.
Result<void> Executor::bind_buffers(Instance& instance) {
    const std::vector<Slot>& slots = instance.module.allocation->slots;
    instance.buffers.resize(slots.size());
    std::vector<uint32_t> order(slots.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(
        order, [&](uint32_t a, uint32_t b) { return slots[a].size_bytes > slots[b].size_bytes; });
    std::set<std::pair<BackendId, BufferId>> taken;
    for (uint32_t i : order) {
        const Slot& slot = slots[i];
        Backend& backend = *backends_[slot.backend.index()];
        const bool fresh = slot.use == Slot::Use::kCopy;
        auto& pool = pools_[{slot.backend, fresh}];
        auto found = pool.lower_bound(slot.size_bytes);
        while (found != pool.end() && taken.contains({slot.backend, found->second})) ++found;
        if (found == pool.end()) {
            INGOT_ASSIGN(const BufferId buffer, fresh ? backend.alloc_fresh(slot.size_bytes)
                                                      : backend.alloc_buffer(slot.size_bytes));
            found = pool.emplace(slot.size_bytes, buffer);
        }
        taken.emplace(slot.backend, found->second);
        instance.buffers[i] = found->second;
    }
    return {};
}

Result<void> Executor::dump(const Module& module) {
    if (options_.dump_graph.empty()) return {};
    const GraphParams& p = module.graph.params();
    std::ofstream file(options_.dump_graph, dumped_ ? std::ios::app : std::ios::trunc);
    file << to_dot(module,
                   fmt::format("tokens {} sequences {} outputs {}", p.tokens, p.sequences, p.outputs));
    file.close();
    if (!file) return fail(ErrorKind::kIo, "can't write the graph to '{}'", options_.dump_graph);
    dumped_ = true;
    return {};
}

Result<void> Executor::prepare(const GraphParams& params, const Backend::Progress& progress) {
    INGOT_TRY(instance(params, progress));
    return {};
}

Result<void> Executor::write_inputs(const Instance& instance, std::span<const InputData> inputs) {
    const Graph& graph = instance.graph();
    for (uint32_t i = 0; i < graph.size(); ++i) {
        const Node& node = graph[NodeId(i)];
        if (node.op != Op::kInput) continue;
        const std::string& name = node.as<InputAttrs>().name;
        const auto given = std::ranges::find(inputs, name, &InputData::name);
        if (given == inputs.end()) return fail(ErrorKind::kInvalidArgument, "input '{}' has no data", name);
        const bool is_float = node.type == DType::kF32;
        if (given->is_float != is_float || given->bytes.size() != node.shape.count() * 4) {
            return fail(ErrorKind::kInvalidArgument, "input '{}' got {} {} elements; {} {} are accepted",
                        name, given->bytes.size() / 4, given->is_float ? "f32" : "i32", node.shape.count(),
                        is_float ? "f32" : "i32");
        }
        const BufferRef to = instance.value(NodeId(i));
        INGOT_TRY(backends_[node.backend.index()]->write(to.buffer, to.offset_bytes, given->bytes));
    }
    return {};
}

// A value of another backend, through host memory. Reading waits for the work that makes it.
Result<void> Executor::copy_across(const Instance& instance, NodeId id, BackendId to) {
    const BufferRef from = instance.value(id), into = instance.copy(id, to);
    staging_.resize(from.length * 4);
    INGOT_TRY(
        backends_[instance.graph()[id].backend.index()]->read(from.buffer, from.offset_bytes, staging_));
    ++stats_.copies;
    return backends_[to.index()]->write(into.buffer, into.offset_bytes, staging_);
}

Result<void> Executor::run(const GraphParams& params, std::span<const InputData> inputs) {
    last_ = nullptr;
    if (trace_) trace_->begin_run();
    INGOT_ASSIGN(Instance* const found, instance(params, {}));
    INGOT_TRY(write_inputs(*found, inputs));
    NodeObserver observer = [&](NodeId id, double seconds, std::span<const float> values) {
        trace_->add(found->graph(), id, seconds, values);
    };
    const std::vector<Split>& splits = *found->module.splits;
    for (size_t s = 0; s < splits.size(); ++s) {
        Backend& backend = *backends_[splits[s].backend.index()];
        for (NodeId id : splits[s].copies) INGOT_TRY(copy_across(*found, id, splits[s].backend));
        INGOT_TRY(backend.execute(*found->programs[s], trace_ ? &observer : nullptr));
        // What follows may need this split's results, and reports of failure belong to the split that failed.
        INGOT_TRY(backend.synchronize());
    }
    ++stats_.runs;
    stats_.splits = splits.size();
    last_ = found;
    return trace_ ? trace_->end_run() : Result<void>();
}

Result<std::span<const float>> Executor::output(size_t index) {
    if (last_ == nullptr) return fail(ErrorKind::kInvalidArgument, "nothing has run");
    const Graph& graph = last_->graph();
    if (index >= graph.outputs().size()) {
        return fail(ErrorKind::kInvalidArgument, "output {} of a graph with {}", index,
                    graph.outputs().size());
    }
    const NodeId id = graph.outputs()[index];
    const BufferRef ref = last_->value(id);
    Backend& backend = *backends_[graph[id].backend.index()];
    if (const std::byte* view = backend.host_view(ref.buffer)) {
        return std::span(reinterpret_cast<const float*>(view + ref.offset_bytes), ref.length);
    }
    std::vector<float>& host = host_outputs_[index];
    host.resize(ref.length);
    INGOT_TRY(backend.read(ref.buffer, ref.offset_bytes, std::as_writable_bytes(std::span(host))));
    return std::span<const float>(host);
}

}  // namespace ingot::graph
