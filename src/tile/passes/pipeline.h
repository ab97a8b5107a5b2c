// The list of passes from a verified kernel to what the emitter takes.
#pragma once

#include <functional>
#include <span>

#include "tile/passes/passes.h"

namespace ingot::tile {

using Pass = Result<Kernel> (*)(const Kernel& k, const PlanOptions& options, Plan& plan);

struct NamedPass {
    std::string_view name;
    Pass pass;
    std::string_view what;
};

std::span<const NamedPass> pass_list();

// Runs them all, verifying after each, and calls `after` (may be empty) with each one's result.
using AfterPass = std::function<void(std::string_view pass, const Kernel& k)>;
Result<Kernel> run_passes(const Kernel& k, const PlanOptions& options, Plan& plan, const AfterPass& after);

}  // namespace ingot::tile
