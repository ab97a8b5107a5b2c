#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/check.h"
#include "llm/graph/pass.h"

namespace ingot::graph {

size_t size_class(size_t size_bytes) {
    constexpr size_t kSmallest = 64, kStep = 16 * 1024;
    if (size_bytes <= kSmallest) return kSmallest;
    if (size_bytes <= kStep) return std::bit_ceil(size_bytes);
    return (size_bytes + kStep - 1) / kStep * kStep;
}

namespace {

constexpr size_t kElementSize = 4;  // f32 and i32 alike
constexpr uint32_t kForever = ~0u;

// Values live from the node that makes them to their last consumer in build order, which is the order of
// execution.
class Allocator {
  public:
    Allocator(const Graph& graph, std::span<const Split> splits) : graph_(graph), splits_(splits) {}

    Allocation run() {
        plan_.values.resize(graph_.size());
        find_lifetimes();
        // Inputs are written by the host before anything runs, so no value may share memory with one.
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            if (graph_[NodeId(i)].op == Op::kInput)
                set(i, new_slot(graph_[NodeId(i)].backend, bytes(i), Slot::Use::kInput));
        }
        for (const Split& split : splits_) {
            // A copy is made while other splits' work may be in flight: its memory is never recycled.
            for (NodeId id : split.copies) {
                plan_.copies[{id, split.backend}] =
                    new_slot(split.backend, bytes(id.index()), Slot::Use::kCopy);
            }
            for (uint32_t i = split.first; i < split.end; ++i) place(i);
        }
        return std::move(plan_);
    }

  private:
    size_t bytes(uint32_t i) const { return graph_[NodeId(i)].shape.count() * kElementSize; }

    // root_: whose memory a value shows (its own, or through views another's). last_use_ and consumers_ count
    // for the root: consumers that execute, not views.
    void find_lifetimes() {
        root_.resize(graph_.size());
        last_use_.assign(graph_.size(), 0);
        consumers_.assign(graph_.size(), 0);
        for (uint32_t i = 0; i < graph_.size(); ++i) {
            const Node& node = graph_[NodeId(i)];
            root_[i] = is_alias(node.op) ? root_[node.inputs[0].index()] : i;
            last_use_[root_[i]] = std::max(last_use_[root_[i]], i);
            if (is_alias(node.op)) continue;
            for (NodeId in : node.inputs) {
                if (!in.valid()) continue;
                last_use_[root_[in.index()]] = i;
                ++consumers_[root_[in.index()]];
            }
        }
        for (NodeId id : graph_.outputs()) last_use_[root_[id.index()]] = kForever;
    }

    void set(uint32_t i, SlotId slot, size_t offset = 0) {
        plan_.values[i] = {slot, offset, graph_[NodeId(i)].shape.count()};
    }

    SlotId new_slot(BackendId backend, size_t size_bytes, Slot::Use use) {
        plan_.slots.push_back({backend, size_class(size_bytes), use});
        return SlotId(uint32_t(plan_.slots.size() - 1));
    }

    void place(uint32_t i) {
        const Node& node = graph_[NodeId(i)];
        if (is_alias(node.op)) {
            const ValuePlan& from = plan_.values[node.inputs[0].index()];
            const size_t row_bytes = node.shape.rows() == 0 ? 0 : bytes(i) / node.shape.rows();
            const size_t skip = node.op == Op::kView ? node.as<ViewAttrs>().first_row * row_bytes : 0;
            set(i, from.slot, from.offset_bytes + skip);
        } else if (node.op != Op::kInput && node.type != DType::kKv) {
            if (can_take_over(node)) {
                set(i, plan_.values[node.inputs[0].index()].slot);
                taken_over_.insert(root_[node.inputs[0].index()]);
            } else {
                set(i, take(node.backend, bytes(i)));
            }
        }
        release_after(i);
    }

    // In place: the op allows it and this node is the only one that ever looks at its first input.
    bool can_take_over(const Node& node) const {
        if (!traits(node.op).in_place) return false;
        const NodeId in = node.inputs[0];
        const uint32_t root = root_[in.index()];
        const Node& made = graph_[NodeId(root)];
        return made.op != Op::kInput && made.type == DType::kF32 && made.backend == node.backend &&
               consumers_[root] == 1 && last_use_[root] != kForever &&
               last_use_[root] == root_last_reader(node) && made.shape.count() == node.shape.count() &&
               graph_[in].shape.count() == node.shape.count();
    }
    uint32_t root_last_reader(const Node& node) const { return uint32_t(&node - graph_.nodes().data()); }

    SlotId take(BackendId backend, size_t size_bytes) {
        auto& free = free_[{backend, size_class(size_bytes)}];
        if (free.empty()) return new_slot(backend, size_bytes, Slot::Use::kValue);
        const SlotId slot = free.back();
        free.pop_back();
        return slot;
    }

    // Gives back the memory of everything whose last use is node i.
    void release_after(uint32_t i) {
        const auto release = [&](uint32_t root) {
            if (last_use_[root] != i || taken_over_.contains(root) || !released_.insert(root).second) return;
            const ValuePlan& value = plan_.values[root];
            if (!value.slot.valid()) return;
            const Slot& slot = plan_.slots[value.slot.index()];
            if (slot.use == Slot::Use::kValue) free_[{slot.backend, slot.size_bytes}].push_back(value.slot);
        };
        release(root_[i]);
        for (NodeId in : graph_[NodeId(i)].inputs) {
            if (in.valid()) release(root_[in.index()]);
        }
    }

    const Graph& graph_;
    std::span<const Split> splits_;
    Allocation plan_;
    std::vector<uint32_t> root_, last_use_, consumers_;
    std::set<uint32_t> taken_over_, released_;
    std::map<std::pair<BackendId, size_t>, std::vector<SlotId>> free_;
};

}  // namespace

Result<Module> allocate(const Module& module, const PassContext&) {
    INGOT_CHECK(module.splits.has_value(), "allocate runs after split");
    return Module{module.graph, module.splits, Allocator(module.graph, *module.splits).run()};
}

}  // namespace ingot::graph
