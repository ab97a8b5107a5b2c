// A launch under checkers: what `ingot metal run --check`, `ingot metal check` and tests call.
#pragma once

#include <array>
#include <vector>

#include "metal/check/finding.h"
#include "metal/check/observer.h"
#include "metal/exec/executor.h"

namespace ingot::metal::check {

struct Request {
    std::vector<CheckerId> checkers;
    std::array<BufferFacts, kNumBufferSlots> buffers{};
    std::vector<Listener*> others;  // who listens besides, e.g. a counter
};

struct Outcome {
    LaunchReport report;
    std::vector<Finding> findings;
};

// `kernel` must have been compiled with CompileOptions::instrument. Findings come in the order in which the
// kernel's threads, run one after the other, met them first: the same in every run.
Result<Outcome> run_checked(Executor& executor, const Kernel& kernel, const Launch& launch,
                            const Request& request);

}  // namespace ingot::metal::check
