// How long threads had to wait for a core, as the scheduler counts it.
#pragma once

#include <chrono>

namespace ingot {

// How long the calling thread has been ready to run with no core for it, since it began. Always zero where
// the system doesn't say: Linux does (/proc/thread-self/schedstat).
std::chrono::nanoseconds run_delay();

}  // namespace ingot
