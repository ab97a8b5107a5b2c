// Settings of the virtual device that Apple's API has no name for. Code that must also build on macOS leaves
// them out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "Metal/Metal.hpp"
#include "metal/check/finding.h"
#include "metal/count/counter.h"
#include "metal/exec/compiler.h"

namespace ingot::metal {

// How long one command buffer may run before it ends with CommandBufferErrorTimeout; 60 seconds at first.
void set_time_limit(MTL::Device* device, double seconds);
// Of pipelines made from now on.
void set_cooperative_layout(MTL::Device* device, CooperativeLayout layout);
// Whether lanes meet around divergent branches that write shared memory. On at first; off shows races.
void set_reconvergence(MTL::Device* device, bool on);
// Whether what works here but not on Apple's systems is refused: sources that mix address spaces, kernels
// that rely on lockstep (as set_reconvergence(false)), no-copy buffers of other than whole pages. Off at
// first; for kernels of one's own it should be on.
void set_strict(MTL::Device* device, bool on);
// Whether compiled libraries are known to be harmless. If not, a child process reads and compiles their
// modules: one crafted to crash LLVM fails its pipeline, not this process. Off at first, unless
// INGOT_METAL_TRUST is 1.
void set_trusts_libraries(MTL::Device* device, bool on);
// Binds a kernel's argument of type tensor<device T, dextents<int, N>>, for which Apple's API has MTL4
// argument tables. Extents and strides count elements, innermost dimension first; no strides: dense.
void set_tensor(MTL::ComputeCommandEncoder* encoder, const MTL::Buffer* buffer, NS::UInteger offset_bytes,
                const std::vector<int32_t>& extents, const std::vector<int32_t>& strides, NS::UInteger slot);
// Binds a kernel's argument of type visible_function_table: [[visible]] functions of the source that the
// kernel is in, by name; "" leaves a place empty. Apple's API has linked functions and tables of handles for
// this. Errors: kNotFound, kUnsupported for compiled libraries.
Result<void> set_function_table(MTL::ComputeCommandEncoder* encoder, const MTL::Library* library,
                                const std::vector<std::string>& names, NS::UInteger slot);
// Pipelines made in this process so far: compiled, or found on disk.
CompileCounts compile_counts(MTL::Device* device);
// Runs pipelines made from now on under checkers, named as for `ingot metal run --check`; "": no longer.
// Calls that break the API's rules are findings then, not the process's end. INGOT_METAL_CHECK does it for a
// whole program, with findings on stderr. Errors: an unknown checker.
Result<void> set_checks(MTL::Device* device, std::string_view checkers);
// What was found since the last call.
std::vector<check::Finding> take_findings(MTL::Device* device);
// Whether dispatches that run under checkers are counted, too.
void set_counting(MTL::Device* device, bool on);
// What was counted since the last call, a dispatch each, in their order.
struct DispatchCounts {
    std::string kernel;
    count::Counts counts;
};
std::vector<DispatchCounts> take_counts(MTL::Device* device);
// Writes a launch file (docs/checking.md) of each dispatch from now on, with its library and buffers; "": no
// longer. INGOT_METAL_RECORD does it for a whole program.
void set_recording(MTL::Device* device, std::string folder);
// Who runs dispatches from now on; default_executor() at first. Results of one executor don't change from run
// to run; kAuto goes over from one to the other.
void set_executor(MTL::Device* device, ExecutorKind kind);

}  // namespace ingot::metal
