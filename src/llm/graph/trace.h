// What runs did, node by node: shape, backend, time, and min/max/mean/NaN count of the values. Written in the
// Trace Event format (JSON), so that chrome://tracing and Perfetto open it; the numbers are in each event's
// args.
#pragma once

#include <cstdint>
#include <fstream>
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
    explicit Trace(std::string path) : path_(std::move(path)) {}

    void begin_run() { events_.clear(); }  // of a run that failed, too
    void add(const Graph& graph, NodeId id, double seconds, std::span<const float> values);
    // Appends what was added since begin_run(); the file is complete JSON after each. kIo if it can't be
    // written.
    Result<void> end_run();

  private:
    struct Event {
        std::string name, op, shape, backend;
        uint32_t node = 0;
        double start_seconds = 0, seconds = 0;
        ValueStats stats;
    };
    std::string to_json(const Event& event) const;

    std::string path_;
    std::ofstream file_;         // opened by the first run
    std::vector<Event> events_;  // of the current run
    uint64_t run_ = 0;
    double clock_ = 0;  // sum of all nodes' times
};

}  // namespace ingot::graph
