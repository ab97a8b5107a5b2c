// The order of the passes, in one place, with a verifier after each.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "llm/graph/pass.h"

namespace ingot::graph {

struct Pass {
    std::string_view name;
    Result<Module> (*run)(const Module&, const PassContext&);
};

inline constexpr std::array kPipeline = {
    Pass{"assign", assign},
    Pass{"fuse", fuse},
    Pass{"split", split},
    Pass{"allocate", allocate},
};

// Runs the pipeline. `after` is called with each pass's verified result; the pass "build" stands for the
// graph as it came. A module that the verifier rejects is a bug in a pass; the Error says which.
Result<Module> compile(Graph graph, const PassContext& context,
                       const std::function<void(std::string_view pass, const Module&)>& after = {});

}  // namespace ingot::graph
