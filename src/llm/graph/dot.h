// A compiled graph as a Graphviz drawing: one cluster per split, nodes with shape and memory, edges with the
// role.
#pragma once

#include <string>

#include "llm/graph/module.h"

namespace ingot::graph {

// A complete `digraph`; `name` tells several in one file apart.
std::string to_dot(const Module& module, std::string_view name);

}  // namespace ingot::graph
