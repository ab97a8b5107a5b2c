#include "metal/exec/monitor.h"

#include <algorithm>
#include <cstring>

namespace ingot::metal {
namespace {

// Where accesses go that mustn't happen; the longest vector fits.
constexpr size_t kSpareBytes = 512;
alignas(64) thread_local unsigned char spare[kSpareBytes];

void* spare_zeros() {
    std::memset(spare, 0, sizeof spare);
    return spare;
}

// The call that was told last on this thread of the process: no other fiber runs between the call and what
// it does.
struct ToldCall {
    const fibers::Lane* thread = nullptr;
    uint32_t site = 0;
};
thread_local ToldCall told;

// Where the access goes.
[[gnu::noinline]] void* tell(Monitor& monitor, const fibers::Lane& thread, void* address, const void* base,
                             uint32_t site, uint64_t low, uint64_t high) {
    const RawAccess access{.site = site,
                           .address = address,
                           .size_bytes = thread.group->sites[site].size_bytes,
                           .base = base,
                           .value_low = low,
                           .value_high = high};
    return monitor.access(thread, access) ? address : spare_zeros();
}

}  // namespace

void watch_tensor_access(const TensorPiece& piece) {
    if (told.thread == nullptr || piece.size_bytes == 0) return;
    told.thread->group->monitor->tensor_access(*told.thread, told.site, piece);
}

bool is_tensor_watched() {
    return told.thread != nullptr;
}

void end_tensor_watch() {
    told = {};
}

}  // namespace ingot::metal

using ingot::metal::RawAccess;
using ingot::metal::fibers::Lane;

extern "C" void* ingot_watch_load(const Lane* me, void* address, const void* base, uint32_t site) {
    return ingot_watch_store(me, address, base, site, 0, 0);
}

extern "C" void* ingot_watch_store(const Lane* me, void* address, const void* base, uint32_t site,
                                   uint64_t low, uint64_t high) {
    ingot::metal::Monitor* monitor = me->group->monitor;
    if (monitor == nullptr) return address;
    const ingot::metal::Ear& ear = monitor->ears()[site];
    const auto place = reinterpret_cast<uintptr_t>(address);
    if (!ear.takes(place)) return ingot::metal::tell(*monitor, *me, address, base, site, low, high);
    ear.hear(ear.hearer, *me, site, place, low, high);
    return address;
}

extern "C" uint64_t ingot_watch_copy(const Lane* me, void* address, const void* base, uint32_t site,
                                     uint64_t size) {
    if (me->group->monitor == nullptr || size == 0) return size;
    const RawAccess access{
        .site = site, .address = address, .size_bytes = size, .base = base, .value_low = 0, .value_high = 0};
    return me->group->monitor->access(*me, access) ? size : 0;
}

extern "C" void ingot_watch_call(const Lane* me, uint32_t site, uint32_t argument) {
    if (me->group->monitor == nullptr) return;
    ingot::metal::told = {me, site};
    me->group->monitor->call(*me, site, argument);
}

extern "C" void ingot_watch_tensor(const Lane* me, uint32_t what, const void* elements, uint32_t element,
                                   uint32_t operand, int32_t rows, int32_t columns, uint32_t threads,
                                   uint32_t layout) {
    using namespace ingot::metal;
    if (me->group->monitor == nullptr) return;
    me->group->monitor->tensor(*me, {.what = TensorUse::What(what),
                                     .elements = elements,
                                     .element = int32_t(element),
                                     .operand = operand,
                                     .rows = rows,
                                     .columns = columns,
                                     .threads = threads,
                                     .layout = CooperativeLayout(layout)});
}
