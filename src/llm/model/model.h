// A model as its file describes it: architecture, numbers, and the table of its weights, all checked. Makes
// compute graphs; running them is the engine's (llm/engine). Bytes stay in the mapped file, which outlives
// the model.
#pragma once

#include <memory>

#include "base/result.h"
#include "llm/gguf/gguf.h"
#include "llm/graph/graph.h"
#include "llm/model/architecture.h"
#include "llm/model/hyper_params.h"
#include "llm/model/weights.h"

namespace ingot::model {

class Model {
  public:
    // Refuses an unknown architecture, bad numbers, and tensors that are missing, unexpected, of another
    // shape or not finite (weights.h says what is looked at, and how to leave that out).
    static Result<Model> load(const gguf::File& file, const LoadOptions& options = {});

    const Architecture& architecture() const { return *architecture_; }
    const HyperParams& hyper() const { return hyper_; }
    const std::shared_ptr<const graph::WeightTable>& weights() const { return weights_; }

    // The graph that yields [params.outputs, vocab] logits, or none if outputs is 0.
    Result<graph::Graph> build(const graph::GraphParams& params) const;

  private:
    Model(const Architecture& architecture, HyperParams hyper,
          std::shared_ptr<const graph::WeightTable> weights)
        : architecture_(&architecture), hyper_(std::move(hyper)), weights_(std::move(weights)) {}

    const Architecture* architecture_;
    HyperParams hyper_;
    std::shared_ptr<const graph::WeightTable> weights_;
};

}  // namespace ingot::model
