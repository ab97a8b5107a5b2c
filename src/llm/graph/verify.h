// What must hold of a graph, and of the decisions passes made about it. Shapes are checked by the rules in
// infer.h; memory is checked by replaying the build order, independently of how the allocator arrived at it.
#pragma once

#include "llm/graph/module.h"

namespace ingot::graph {

Result<void> verify(const Graph& graph);
Result<void> verify(const Module& module);

}  // namespace ingot::graph
