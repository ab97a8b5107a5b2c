// A run of nodes turned into dispatches. Buffers, kernels and grids are resolved when the program is made;
// what depends on input data (which cells a token sees, rotation tables) is checked and written by the
// prologue, on the host, before anything is encoded, so that a dispatch can't be handed a bad index.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "llm/backend/backend.h"
#include "llm/backend/metal/command_stream.h"

namespace ingot::mtl {

class MetalBackend;

struct Step {
    graph::NodeId node;
    Dispatch dispatch;
};

class MetalProgram final : public Program {
  public:
    static Result<std::unique_ptr<MetalProgram>> compile(MetalBackend& backend, const graph::Graph& graph,
                                                         std::span<const BoundNode> nodes);

    std::span<const std::function<Result<void>()>> prologue() const { return prologue_; }
    std::span<const Step> steps() const { return steps_; }
    // The node's result once its steps have run; empty if it has none.
    std::span<const float> values(graph::NodeId node) const;

  private:
    friend class Compiler;
    std::vector<std::function<Result<void>()>> prologue_;
    std::vector<Step> steps_;
    std::map<graph::NodeId, std::span<const float>> values_;
    std::vector<std::shared_ptr<MTL::Buffer>> tables_;  // that the prologue fills
    std::shared_ptr<MTL::Buffer> scratch_;
};

}  // namespace ingot::mtl
