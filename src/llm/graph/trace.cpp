#include "llm/graph/trace.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace ingot::graph {

ValueStats stats_of(std::span<const float> values) {
    ValueStats stats;
    stats.count = values.size();
    double sum = 0.0;
    size_t numbers = 0;
    for (float value : values) {
        if (std::isnan(value)) continue;
        stats.min = numbers == 0 ? value : std::min(stats.min, value);
        stats.max = numbers == 0 ? value : std::max(stats.max, value);
        sum += value;
        ++numbers;
    }
    stats.nan_count = values.size() - numbers;
    stats.mean = numbers == 0 ? 0.0 : sum / double(numbers);
    return stats;
}

void Trace::add(const Graph& graph, NodeId id, double seconds, std::span<const float> values) {
    const Node& node = graph[id];
    events_.push_back({graph.label(id), std::string(to_string(node.op)), to_string(node.shape),
                       graph.backends()[node.backend.index()], id.index(), clock_, seconds,
                       stats_of(values)});
    clock_ += seconds;
}

std::string Trace::to_json(const Event& e) const {
    // JSON has no infinities; a range that contains one is written as null.
    const auto number = [](double value) {
        return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
    };
    nlohmann::json args = {{"node", e.node}, {"run", run_}, {"shape", e.shape}, {"backend", e.backend}};
    if (e.stats.count > 0) {
        args["min"] = number(e.stats.min);
        args["max"] = number(e.stats.max);
        args["mean"] = number(e.stats.mean);
        args["nan"] = e.stats.nan_count;
    }
    const nlohmann::json event = {{"name", e.name},
                                  {"cat", e.op},
                                  {"ph", "X"},
                                  {"pid", 1},
                                  {"tid", e.backend},
                                  {"ts", e.start_seconds * 1e6},
                                  {"dur", e.seconds * 1e6},
                                  {"args", std::move(args)}};
    return event.dump();
}

Result<void> Trace::end_run() {
    constexpr std::string_view kHeader = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n",
                               kFooter = "\n]}\n";
    const bool first = !file_.is_open();
    if (first) {
        file_.open(path_, std::ios::binary | std::ios::trunc);
        file_ << kHeader;
    } else {
        file_.seekp(-std::streamoff(kFooter.size()), std::ios::end);
    }
    for (size_t i = 0; i < events_.size(); ++i)
        file_ << (first && i == 0 ? "" : ",\n") << to_json(events_[i]);
    file_ << kFooter << std::flush;
    events_.clear();
    ++run_;
    if (!file_) return fail(ErrorKind::kIo, "can't write the trace to '{}'", path_);
    return {};
}

}  // namespace ingot::graph
