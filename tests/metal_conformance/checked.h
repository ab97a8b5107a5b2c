// Runs under checkers: where INGOT_CHECK_RUNS names some, kernels are compiled to be watched and what they do
// wrong fails their test, except what is known of them (checked.cpp). And runs under the counter.
#pragma once

#include <vector>

#include "metal/count/counter.h"
#include "metal/exec/compiler.h"
#include "metal/exec/executor.h"

namespace ingot::metal::conformance {

// For a corpus to compile with.
CompileOptions options_of_runs();
Result<LaunchReport> run_or_check(Executor& executor, const Kernel& kernel, const Launch& launch);

// While it lives, runs are counted instead, which takes fibers.
class CountedRuns {
  public:
    CountedRuns();
    ~CountedRuns();
    CountedRuns(const CountedRuns&) = delete;
    CountedRuns& operator=(const CountedRuns&) = delete;

    // What ran, a launch each, in order.
    const std::vector<count::Counts>& launches() const { return launches_; }

  private:
    friend Result<LaunchReport> run_or_check(Executor&, const Kernel&, const Launch&);
    std::vector<count::Counts> launches_;
};

}  // namespace ingot::metal::conformance
