// Cooperative scheduling inside one threadgroup: threads are fibers that leave the processor only where they
// wait for each other. A threadgroup barrier is a meeting of all live threads. A simdgroup function is one of
// the lanes that wait at the same call once no lane of the simdgroup can go on: with lanes at several calls,
// the one that comes first in the code is complete, as lanes may come from there to the others
// (jit/passes/block_order.h has the order). Lanes that returned don't hold others up. Apple leaves a barrier
// that some threads never reach undefined; here it runs on once nobody can proceed, and is reported.
#pragma once

#include "metal/exec/fibers/lane.h"

namespace ingot::metal::fibers {

// The number of a call that comes after all others.
constexpr uint32_t kLastSite = ~0u;

// Waits for the simdgroup's lanes that come to call `site`; one of them runs `function` (may be null) for
// all.
void meet(Lane* me, uint32_t site, MeetFunction function, const void* argument);

// Runs the group's threads from start to end on the calling thread. Every lane must have a fresh
// context (stacks.h).
void run_group(Group* group);

// Runs the group's threads one after the other, each to its end, on one fiber that starts in `context`: for
// kernels whose threads never wait for each other.
void run_serial(Group* group, void* context);

// A context that starts a fiber when resumed, for stacks.h.
void* make_lane_context(void* stack_top, size_t stack_bytes);

// Leaves the group's fibers where they are and returns from run_group.
[[noreturn]] void abandon_group(Group* group);

// Tells the runtime about doubtful behaviour; the launch collects it.
void report_finding(Group* group, const char* what, uint32_t a, uint32_t b);

}  // namespace ingot::metal::fibers

extern "C" {
// Called by generated code.
void ingot_barrier(ingot::metal::fibers::Lane* me);
void ingot_simdgroup_barrier(ingot::metal::fibers::Lane* me, uint32_t site);
void ingot_stop(ingot::metal::fibers::Lane* me);
}
