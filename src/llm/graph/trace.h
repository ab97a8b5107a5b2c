// What a run did, node by node: shape, backend, time, and min/max/mean/NaN count of the values. Written in
// the Trace Event format (JSON), so that chrome://tracing and Perfetto open it; the numbers are in each
// event's args.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "llm/graph/graph.h"

namespace ingot::graph {

struct ValueStats {
    size_t count = 0;      // all values
    size_t nan_count = 0;  // the others are over the rest
    float min = 0.0f, max = 0.0f;
    double mean = 0.0;
};
ValueStats stats_of(std::span<const float> values);

class Trace {
  public:
    void begin_run() { ++runs_; }
    void add(const Graph& graph, NodeId id, double seconds, std::span<const float> values);
    // The whole trace so far.
    Result<void> write(const std::string& path) const;
    std::string to_json() const;

    struct Event {
        uint64_t run = 0;
        std::string name, op, shape, backend;
        uint32_t node = 0;
        double start_seconds = 0, seconds = 0;
        ValueStats stats;
    };
    std::span<const Event> events() const { return events_; }

  private:
    std::vector<Event> events_;
    uint64_t runs_ = 0;
    double clock_ = 0;  // sum of all nodes' times
};

}  // namespace ingot::graph
