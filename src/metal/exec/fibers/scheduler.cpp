#include "metal/exec/fibers/scheduler.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "metal/exec/fibers/context.h"

namespace ingot::metal::fibers {
namespace {

// The group this worker is inside of; only a fiber's first instant needs it.
thread_local Group* starting_group = nullptr;

void switch_lane(Lane* from, Lane* to) {
    to->group->current = to;
    ingot_switch_context(&from->context, to->context);
}

// The lane of `mask` that follows `after`, round robin.
uint32_t next_lane(uint32_t mask, uint32_t after) {
    const uint32_t later = mask & uint32_t(~uint64_t{1} << after);
    return uint32_t(std::countr_zero(later != 0 ? later : mask));
}

// Those of `arrived` that wait at the call that comes first.
uint32_t lanes_at_first_site(const Lane* lanes, uint32_t arrived) {
    uint32_t first = kLastSite, mask = 0;
    for (uint32_t left = arrived; left != 0; left &= left - 1) {
        const uint32_t index = uint32_t(std::countr_zero(left)), site = lanes[index].site;
        if (site < first) mask = 0;
        first = std::min(first, site);
        if (site == first) mask |= 1u << index;
    }
    return mask;
}

void finish_meeting(Simdgroup* simdgroup) {
    const Lane* lanes = &simdgroup->group->lanes[simdgroup->index * kSimdWidth];
    uint32_t mask = simdgroup->arrived;
    if (simdgroup->mixed) mask = lanes_at_first_site(lanes, mask);
    const Lane& one = lanes[std::countr_zero(mask)];
    if (one.function != nullptr) one.function(simdgroup, mask, one.argument);
    simdgroup->group->rendezvous++;
    simdgroup->arrived &= ~mask;
    simdgroup->mixed = simdgroup->arrived != 0;
    simdgroup->runnable |= mask;
}

void finish_barrier(Group* group) {
    group->rendezvous++;
    group->arrived = 0;
    for (uint32_t i = 0; i < group->num_simdgroups; ++i) {
        group->simdgroups[i].runnable |= group->simdgroups[i].waiting;
        group->simdgroups[i].waiting = 0;
    }
}

// `me` can't go on. A meeting is complete once that holds for all lanes: who waits at a barrier waits for
// those in the meeting too.
void suspend(const Lane* me) {
    Simdgroup* simdgroup = me->simdgroup;
    simdgroup->runnable &= ~(1u << me->lane);
    if (simdgroup->runnable == 0 && simdgroup->arrived != 0) finish_meeting(simdgroup);
}

// Nobody can run: a barrier that some threads skip goes on.
void resolve_stalemate(Group* group) {
    INGOT_CHECK(group->arrived != 0, "no fiber can run and none waits");
    report_finding(group, "{} of {} live threads wait at a threadgroup barrier that the others don't reach",
                   group->arrived, group->live);
    finish_barrier(group);
}

// Who runs next, seen from `simdgroup`; null when all threads of the group ended.
Lane* pick_lane(Simdgroup* simdgroup, uint32_t after) {
    Group* group = simdgroup->group;
    for (;;) {
        for (uint32_t k = 0; k < group->num_simdgroups; ++k) {
            uint32_t index = simdgroup->index + k;
            if (index >= group->num_simdgroups) index -= group->num_simdgroups;
            const uint32_t runnable = group->simdgroups[index].runnable;
            if (runnable != 0) {
                return &group->lanes[index * kSimdWidth + (k == 0 ? next_lane(runnable, after)
                                                                  : uint32_t(std::countr_zero(runnable)))];
            }
        }
        if (group->live == 0) return nullptr;
        resolve_stalemate(group);
    }
}

// Lets others run until the meeting or barrier that `me` waits for is complete.
void wait(Lane* me) {
    suspend(me);
    Simdgroup* simdgroup = me->simdgroup;
    const uint32_t runnable = simdgroup->runnable;
    if ((runnable >> me->lane & 1) != 0) return;
    Lane* next = runnable != 0
                     ? &me->group->lanes[simdgroup->index * kSimdWidth + next_lane(runnable, me->lane)]
                     : pick_lane(simdgroup, me->lane);
    // Resolving a stalemate may have made `me` the one to go on.
    if (next != me) switch_lane(me, next);
}

// A thread's last act. Waiters that only waited for it go on.
[[noreturn]] void end_lane(Lane* me) {
    Group* group = me->group;
    Simdgroup* simdgroup = me->simdgroup;
    group->live--;
    suspend(me);
    if (group->arrived != 0 && group->arrived == group->live) finish_barrier(group);
    Lane* next = pick_lane(simdgroup, me->lane);
    void* unused;
    if (next == nullptr) {
        ingot_switch_context(&unused, group->host_context);
    } else {
        group->current = next;
        ingot_switch_context(&unused, next->context);
    }
    INGOT_CHECK(false, "a thread that ended was resumed");
    __builtin_unreachable();
}

void fiber_main() {
    Group* group = starting_group;
    Lane* me = group->current;
    if (me == nullptr) {
        for (uint32_t i = 0; i < group->num_threads; ++i) {
            group->current = &group->lanes[i];
            group->entry(group->current);
        }
        abandon_group(group);
    }
    group->entry(me);
    end_lane(me);
}

}  // namespace

void meet(Lane* me, uint32_t site, MeetFunction function, const void* argument) {
    Simdgroup* simdgroup = me->simdgroup;
    me->site = site;
    me->function = function;
    me->argument = argument;
    if (simdgroup->arrived == 0) simdgroup->site = site;
    simdgroup->mixed |= simdgroup->site != site;
    simdgroup->arrived |= 1u << me->lane;
    wait(me);
}

void run_group(Group* group) {
    starting_group = group;
    group->current = &group->lanes[0];
    ingot_switch_context(&group->host_context, group->current->context);
}

void run_serial(Group* group, void* context) {
    starting_group = group;
    group->current = nullptr;
    ingot_switch_context(&group->host_context, context);
}

void* make_lane_context(void* stack_top, size_t stack_bytes) {
    return make_context(stack_top, stack_bytes, fiber_main);
}

void abandon_group(Group* group) {
    void* unused;
    ingot_switch_context(&unused, group->host_context);
    __builtin_unreachable();
}

}  // namespace ingot::metal::fibers

using ingot::metal::fibers::Lane;

extern "C" void ingot_barrier(Lane* me) {
    ingot::metal::fibers::Group* group = me->group;
    me->simdgroup->waiting |= 1u << me->lane;
    if (++group->arrived == group->live) return ingot::metal::fibers::finish_barrier(group);
    ingot::metal::fibers::wait(me);
}

extern "C" void ingot_simdgroup_barrier(Lane* me, uint32_t site) {
    ingot::metal::fibers::meet(me, site, nullptr, nullptr);
}

extern "C" void ingot_stop(Lane* me) {
    ingot::metal::fibers::abandon_group(me->group);
}
