// The passes that turn an AIR module into one the code generator takes, in order.
#pragma once

#include <string>
#include <vector>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

std::vector<std::string> pass_names();
const Pass* find_pass(std::string_view name);

// Runs the passes of the executor that options name (up to lower_to_fibers only, if they say so), the
// verifier after each, and prints where asked.
Result<void> run_pipeline(llvm::Module& module, PassState& state);

std::string print_module(const llvm::Module& module);

}  // namespace ingot::metal::jit
