// Contexts of execution and the switch between them: what a fiber is, apart from its stack.
#pragma once

#include <cstddef>

namespace ingot::metal::fibers {

// A context on the given stack that runs `entry`, which never returns, when it is first switched to.
void* make_context(void* stack_top, size_t stack_bytes, void (*entry)());

}  // namespace ingot::metal::fibers

// Leaves the running context in *save and goes on with `to`. Floating-point control words are shared.
extern "C" void ingot_switch_context(void** save, void* to);
