// Runs graphs: builds one per distinct GraphParams, compiles it (pipeline.h), binds it to memory and executes
// it split by split, copying what crosses backends. A decode step finds its graph in the cache. It knows
// neither architectures (the build function does) nor sequences (llm/kv does). One caller at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "llm/backend/backend.h"
#include "llm/graph/module.h"
#include "llm/graph/pass.h"

namespace ingot::graph {

class Trace;

// Data for one Input node; i32 or f32, exactly as many elements as the node has.
struct InputData {
    std::string_view name;
    std::span<const std::byte> bytes;
    bool is_float;

    InputData(std::string_view name_, std::span<const int32_t> values)
        : name(name_), bytes(std::as_bytes(values)), is_float(false) {}
    InputData(std::string_view name_, std::span<const float> values)
        : name(name_), bytes(std::as_bytes(values)), is_float(true) {}
};

struct ExecutorOptions {
    uint32_t kv_cells = 0;
    uint32_t first_backend_blocks = kAllBlocks;  // PassContext
    std::string dump_graph = {};  // path of a .dot file that every distinct graph is added to; empty: off
    std::string trace = {};       // path of a .json file, longer after every run; empty: off
    std::string print_after =
        {};  // name of a pass whose result is printed to stderr; "all" for each; empty: off
};

class Executor {
  public:
    using Build = std::function<Result<Graph>(const GraphParams&)>;

    // `backends` in order of preference; they outlive the executor.
    Executor(std::vector<Backend*> backends, Build build, ExecutorOptions options);
    ~Executor();

    // Builds and binds the graph of `params`, weights included, without running it. For load time, so that a
    // refusal comes early and with progress.
    Result<void> prepare(const GraphParams& params, const Backend::Progress& progress = {});

    // Runs the graph of `params`. Every Input node needs its data; data for inputs that the graph does not
    // have is ignored. If it fails the contents of the KV cells it was to write are unspecified.
    Result<void> run(const GraphParams& params, std::span<const InputData> inputs);
    // Output `index` of the last run, valid until the next.
    Result<std::span<const float>> output(size_t index = 0);

    struct Stats {
        uint64_t graphs_built = 0;
        uint64_t runs = 0;
        uint64_t copies = 0;  // values copied between backends, all runs together
        uint64_t splits = 0;  // of the last run
    };
    const Stats& stats() const { return stats_; }
    // The compiled graph of `params`, nullptr if it was not built (or was dropped for others since).
    const Graph* find(const GraphParams& params) const;
    const Module* find_module(const GraphParams& params) const;

  private:
    struct Instance;

    Result<Instance*> instance(const GraphParams& params, const Backend::Progress& progress);
    Result<void> check_print_after() const;
    void evict_if_full();
    Result<void> bind(Instance& instance, const Backend::Progress& progress);
    Result<void> bind_kv(const Graph& graph);
    Result<void> bind_buffers(Instance& instance);
    Result<void> dump(const Module& module);
    Result<void> write_inputs(const Instance& instance, std::span<const InputData> inputs);
    Result<void> copy_across(const Instance& instance, NodeId id, BackendId to);

    std::vector<Backend*> backends_;
    Build build_;
    ExecutorOptions options_;
    std::map<GraphParams, std::unique_ptr<Instance>> instances_;
    Instance* last_ = nullptr;
    uint64_t clock_ = 0;
    std::map<uint32_t, BackendId> kv_homes_;  // by layer
    // Buffers by size; those of copies (true) apart from those of values.
    std::map<std::pair<BackendId, bool>, std::multimap<size_t, BufferId>> pools_;
    std::vector<std::byte> staging_;
    std::map<size_t, std::vector<float>> host_outputs_;  // of backends without host_view
    std::unique_ptr<Trace> trace_;
    bool dumped_ = false;
    Stats stats_;
};

}  // namespace ingot::graph
