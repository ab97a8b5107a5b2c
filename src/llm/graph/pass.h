// The passes between building a graph and running it. Each is a free function that makes a new module;
// pipeline.h lists their order. A pass that can't do its work says why in an Error and changes nothing.
#pragma once

#include <span>

#include "llm/backend/backend.h"
#include "llm/graph/module.h"

namespace ingot::graph {

inline constexpr uint32_t kAllBlocks = ~0u;

struct PassContext {
    std::span<const Backend* const> backends;  // in order of preference; BackendId is an index into it
    // How many of the model's blocks, from the first on, may be on the first backend; what lies before and
    // behind the blocks is there only with all of them.
    uint32_t first_backend_blocks = kAllBlocks;
};

// Puts every node on the first backend that supports it. The nodes of a layer's KV cells stay together;
// inputs go where they are used first; views stay with what they look at.
Result<Module> assign(const Module& module, const PassContext& context);

// Rewrites groups of nodes into fused ones where params.fuse asks for it and the backend supports it, and
// drops the nodes that neither an output nor the KV cache needs.
Result<Module> fuse(const Module& module, const PassContext& context);

// Cuts the graph where the backend changes and lists the values that have to cross.
Result<Module> split(const Module& module, const PassContext& context);

// Gives every value memory. See docs/graph.md for the rules.
Result<Module> allocate(const Module& module, const PassContext& context);

}  // namespace ingot::graph
