// A run of nodes turned into steps for the thread pool. A step is one function that all workers of a region
// call; between steps there is a barrier. Everything is resolved when the program is made (pointers, kernels,
// rotation frequencies); what depends on input data is checked and prepared by the prologue, on the calling
// thread, before the region starts, so that steps can't fail.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "llm/backend/backend.h"
#include "llm/backend/cpu/kernels/attention.h"
#include "llm/backend/cpu/kernels/ops.h"

namespace ingot::cpu {

class CpuBackend;

struct Step {
    graph::NodeId node;
    std::function<void(Worker&)> run;
    uint64_t* count;  // of the kernel that it runs
};

class CpuProgram final : public Program {
  public:
    static Result<std::unique_ptr<CpuProgram>> compile(CpuBackend& backend, const graph::Graph& graph,
                                                       std::span<const BoundNode> nodes);

    std::span<const std::function<Result<void>()>> prologue() const { return prologue_; }
    std::span<const Step> steps() const { return steps_; }
    // The node's result after its last step; empty if it has none.
    std::span<const float> values(graph::NodeId node) const;

  private:
    friend class Compiler;
    std::vector<std::function<Result<void>()>> prologue_;
    std::vector<Step> steps_;
    std::map<graph::NodeId, std::span<const float>> values_;
    // Sines and cosines, and cell spans, that several nodes share; filled anew by every execution.
    std::vector<std::unique_ptr<std::vector<float>>> tables_;
    std::vector<std::unique_ptr<std::vector<CellSpan>>> spans_;
};

}  // namespace ingot::cpu
