// A number that tells models apart: the graph they build, with all its numbers (rotary bases, windows,
// epsilons), what their tensors are called, their types and shapes, and how each begins. Files whose KV rows
// are used again (llm/kv/session.h) name their model by it.
#pragma once

#include <cstdint>

#include "llm/gguf/gguf.h"
#include "llm/graph/graph.h"

namespace ingot::model {

// `graph`: the model's for default parameters.
uint64_t fingerprint(const gguf::File& file, const graph::Graph& graph);

}  // namespace ingot::model
