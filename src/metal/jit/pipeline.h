// The passes that turn an AIR module into one the code generator takes, in order.
#pragma once

#include <span>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

std::span<const Pass> all_passes();
const Pass* find_pass(std::string_view name);

// Runs all passes (up to lower_to_fibers only, if options say so), the verifier after each, and prints where
// asked.
Result<void> run_pipeline(llvm::Module& module, PassState& state);

std::string print_module(const llvm::Module& module);

}  // namespace ingot::metal::jit
