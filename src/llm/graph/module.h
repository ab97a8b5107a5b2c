// A graph on its way to execution: the graph itself and what the passes have decided about it so far.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "llm/graph/graph.h"

namespace ingot::graph {

// A block of memory of one backend that values take turns in.
using SlotId = Id<struct SlotTag>;

// A run of nodes [first, end) in build order that execute on one backend without interruption.
struct Split {
    BackendId backend;
    uint32_t first = 0, end = 0;
    std::vector<NodeId> copies;  // values of other backends that are copied to this one before the split runs
    bool operator==(const Split&) const = default;
};

struct Slot {
    enum class Use : uint8_t { kInput, kValue, kCopy };
    BackendId backend;
    size_t size_bytes = 0;  // a size class
    Use use = Use::kValue;
    bool operator==(const Slot&) const = default;
};

// Where a value lies; an invalid slot for values without data (KV handles).
struct ValuePlan {
    SlotId slot;
    size_t offset_bytes = 0;
    size_t length = 0;  // elements of 4 bytes; what the slot holds behind them is garbage
    bool operator==(const ValuePlan&) const = default;
};

struct Allocation {
    std::vector<Slot> slots;
    std::vector<ValuePlan> values;                          // by node
    std::map<std::pair<NodeId, BackendId>, SlotId> copies;  // of a value on another backend
};

struct Module {
    Graph graph;
    std::optional<std::vector<Split>> splits;
    std::optional<Allocation> allocation;
};

// 64 bytes at least, powers of two up to 16 KiB, then multiples of 16 KiB.
size_t size_class(size_t size_bytes);

}  // namespace ingot::graph
