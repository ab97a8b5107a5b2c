// The records that generated code and the fiber runtime share: one Lane per Metal thread, 32 of them make a
// Simdgroup, all of a threadgroup's make a Group. The JIT reads fields by offset, so these stay plain structs
// without LLVM or Boost in sight. None of it lies on a fiber's stack, where a kernel's overrun could reach
// it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "metal/exec/launch.h"

namespace ingot::metal {
struct Site;
}

namespace ingot::metal::fibers {

struct Group;
struct Simdgroup;

// Runs once per meeting, on one lane's fiber, for the lanes in `mask`.
using MeetFunction = void (*)(Simdgroup*, uint32_t mask, const void* argument);

struct Lane {
    Group* group;
    Simdgroup* simdgroup;
    uint32_t lane;    // 0..31 in its simdgroup
    uint32_t thread;  // in its threadgroup
    uint32_t simdgroup_index;
    uint32_t matrix_element;  // row * 8 + column of this lane's first element of an 8x8 matrix
    uint32_t position[3];     // in the threadgroup
    uint32_t grid_position[3];
    uint32_t active_lanes;  // of a simdgroup that runs as one fiber (Group::lanes_per_fiber)
    void* context;          // where to resume, while it waits
    // While it waits in a meeting: at which call, and what is done there.
    uint32_t site;
    MeetFunction function;
    const void* argument;
};

// 8x8 matrices that a simdgroup can hold: operands and results of one batch of products, and behind them
// accumulators that stay while a loop runs.
constexpr uint32_t kBatchSlots = 160;
constexpr uint32_t kMatrixSlots = kBatchSlots + 96;

struct alignas(64) Simdgroup {
    uint32_t runnable, arrived, live, waiting;  // masks of lanes
    uint32_t site;                              // where the first of `arrived` waits
    bool mixed;                                 // lanes of `arrived` wait at different calls
    uint32_t index;
    Group* group;
    // kMatrixSlots matrices of 64 floats. One set is enough: others' elements are read in meetings only.
    float* matrices;
    // A lane writes its own `in`s before it meets and reads its own `out` afterwards.
    uint64_t in[kSimdWidth], in2[kSimdWidth], out[kSimdWidth];
    uint32_t amount[kSimdWidth], modulo[kSimdWidth];
};

// Memory in which accesses, at the alignment that they need, aren't told to who watches.
struct QuietRange {
    uint64_t begin = 0, size_bytes = 0;
    uint64_t fixed_bytes = 0;  // likewise, for places of the code that access one offset only
};

struct Group {
    Simdgroup* simdgroups;
    Lane* lanes;
    Lane* current;         // who runs now
    unsigned char* arena;  // threadgroup memory
    void** buffers;
    void** threadgroup_buffers;
    const volatile uint32_t* stop;  // non-zero: leave as soon as possible
    void* host_context;
    void (*entry)(Lane*);
    uint32_t num_threads, num_simdgroups;  // as the scheduler sees them
    uint32_t lanes_per_fiber;              // 1, or 32 where a simdgroup is one fiber
    uint32_t live, arrived;
    uint32_t group_position[3], num_groups[3];
    uint32_t group_threads[3];           // of this group; boundary groups are smaller
    uint32_t dispatch_group_threads[3];  // of a full group
    uint32_t dispatch_simdgroups;
    uint32_t grid_threads[3];
    uint64_t rendezvous;
    void* worker;                         // the runtime's own record
    Monitor* monitor;                     // who watches, or null (monitor.h)
    const Site* sites;                    // of instrumented code
    uint64_t* block_counts;               // which that adds to, thread after thread
    const QuietRange* quiet;              // of its objects
    uint32_t hears_calls;                 // whether who watches is told of meetings
    uint64_t stacks_begin, stacks_bytes;  // where the stacks of all the group's fibers lie
};

// visit(lane) for each set bit of a mask, in order.
template <typename Visit>
void for_each_lane(uint32_t mask, Visit visit) {
    for (; mask != 0; mask &= mask - 1) visit(uint32_t(std::countr_zero(mask)));
}

}  // namespace ingot::metal::fibers
