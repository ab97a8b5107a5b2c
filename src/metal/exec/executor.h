// Runs a kernel over a grid. An executor owns how threads of a threadgroup map to the machine; callers see
// one blocking call. The fibers executor (fibers/) is the reference. Another one plugs in by compiling the
// same lowered module its own way and implementing this interface.
#pragma once

#include <memory>

#include "base/result.h"
#include "metal/exec/kernel.h"
#include "metal/exec/launch.h"

namespace ingot::metal {

class Executor {
  public:
    virtual ~Executor() = default;

    // Blocks until every threadgroup ran, or the first fault or the deadline. An Error is a launch that can't
    // be served (sizes beyond the limits); what the kernel did wrong is in the report.
    virtual Result<LaunchReport> run(const Kernel& kernel, const Launch& launch) = 0;
};

// Runs both forms of a kernel: threads as fibers, or simdgroups as vectors where a launch asks for it.
std::unique_ptr<Executor> make_fiber_executor();

}  // namespace ingot::metal
