// Runs under checkers: where INGOT_CHECK_RUNS names some, kernels are compiled to be watched and what they do
// wrong fails their test, except what is known of them (checked.cpp).
#pragma once

#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"

namespace ingot::metal::conformance {

// For a corpus to compile with.
CompileOptions options_of_runs();
Result<LaunchReport> run_or_check(Executor& executor, const Kernel& kernel, const Launch& launch);

}  // namespace ingot::metal::conformance
