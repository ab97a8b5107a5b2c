// Settings of the virtual device that Apple's API has no name for. Code that must also build on macOS leaves
// them out.
#pragma once

#include "Metal/Metal.hpp"
#include "metal/exec/kernel.h"

namespace ingot::metal {

// How long one command buffer may run before it ends with CommandBufferErrorTimeout; 60 seconds at first.
void set_time_limit(MTL::Device* device, double seconds);
// Of pipelines made from now on.
void set_cooperative_layout(MTL::Device* device, CooperativeLayout layout);
// Whether lanes meet around divergent branches that write shared memory. On at first; off shows races.
void set_reconvergence(MTL::Device* device, bool on);

}  // namespace ingot::metal
