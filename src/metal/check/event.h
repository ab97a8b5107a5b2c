// What checkers and counters hear about a launch, one call an event, in an order that never changes from run
// to run. An Observer (observer.h) makes events of what instrumented code tells, and resolves addresses to
// the memory they lie in. A listener keeps what it needs: events live as long as the call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "metal/exec/kernel.h"
#include "metal/exec/launch.h"
#include "metal/exec/monitor.h"

namespace ingot::metal::check {

using Position = std::array<uint32_t, 3>;

// A thread, and how far it is: accesses of two threads of a group are ordered by a barrier if their epochs
// differ.
struct Thread {
    uint32_t group = 0;  // number of its threadgroup in the launch
    uint32_t index = 0;  // in its threadgroup
    uint32_t simdgroup = 0, lane = 0;
    Position position{}, group_position{};  // in the threadgroup, in the grid
    // Barriers that it passed since the launch began, as far as they order that memory.
    uint32_t device_epoch = 0, threadgroup_epoch = 0;
    // simdgroup_barriers of the same kind, since the group began.
    uint16_t device_simdgroup_epoch = 0, threadgroup_simdgroup_epoch = 0;
};

// A stretch of memory as the kernel's host knows it.
struct Region {
    MemoryObject object;
    uint64_t begin = 0, size_bytes = 0;
    bool initialised = true;  // has contents before the kernel writes any
};

struct Access {
    uint32_t site_number = 0;
    const Site* site = nullptr;
    const Thread* thread = nullptr;
    uint64_t address = 0, size_bytes = 0;
    // What is meant, or what was hit if the code doesn't say; null if nothing is known there.
    const Region* region = nullptr;
    bool inside = true;  // of the region; what isn't doesn't happen
    // How often each thread of the group ran each block, this time included.
    const uint64_t* block_counts = nullptr;
    uint32_t num_blocks = 0;
    uint64_t value_low = 0, value_high = 0;
    const void* brings = nullptr;  // of a tensor operation that writes: all its bytes

    int64_t offset() const { return region == nullptr ? 0 : int64_t(address - region->begin); }
    // How often the thread was there before, in its group.
    uint64_t round() const { return block_counts[size_t{thread->index} * num_blocks + site->block] - 1; }
};

struct Call {
    uint32_t site_number = 0;
    const Site* site = nullptr;
    const Thread* thread = nullptr;  // as it is before the call
    uint32_t argument = 0;           // memory flags of a barrier
};

// A simdgroup's part of a matmul2d, or the product of a thread alone.
struct Product {
    uint32_t site_number = 0;
    const Site* site = nullptr;
    const Thread* thread = nullptr;  // the simdgroup's first
    const ProductShape& shape;
};

// What a thread does with a cooperative tensor.
struct TensorEvent {
    uint32_t site_number = 0;
    const Thread* thread = nullptr;
    const TensorUse& use;
};

// A lane shuffles from one that takes no part, or doesn't exist.
struct StrayShuffle {
    uint32_t site_number = 0;
    const Site* site = nullptr;
    const Thread* thread = nullptr;
    uint32_t source = 0;
    bool exists = true;
};

// Flags of barriers, as mem_flags has them.
constexpr uint32_t kOrdersDevice = 1, kOrdersThreadgroup = 2;

// Of a tensor operation that was called right before. Nothing keeps it from happening.
struct TensorAccess {
    uint32_t site_number = 0;
    const Site* site = nullptr;
    const Thread* thread = nullptr;  // who does it for its simdgroup
    uint64_t address = 0, size_bytes = 0;
    const Region* region = nullptr;  // what was hit; null if nothing is known there
    bool writes = false;
    const void* brings = nullptr;  // the bytes that are written

    uint64_t offset() const { return region == nullptr ? 0 : address - region->begin; }
    bool inside() const { return region != nullptr && offset() + size_bytes <= region->size_bytes; }
    // The same in the form of others; `plain` gets what its site is and does there.
    Access as_access(Site& plain) const {
        plain.kind = site->kind;
        plain.reads = !writes;
        plain.writes = writes;
        plain.space = region == nullptr ? MemorySpace::kDevice : region->object.space;
        return {.site_number = site_number,
                .site = &plain,
                .thread = thread,
                .address = address,
                .size_bytes = size_bytes,
                .region = region,
                .inside = inside(),
                .brings = brings};
    }
};

// Whether two buffers share a byte.
inline bool overlap(const BufferBinding& a, const BufferBinding& b) {
    const auto begin = [](const BufferBinding& bound) { return reinterpret_cast<uintptr_t>(bound.address); };
    return begin(a) < begin(b) + b.size_bytes && begin(b) < begin(a) + a.size_bytes;
}

struct LaunchEvent {
    const Kernel& kernel;
    const Launch& launch;
    // By the kernel's objects; those of threadgroup memory have no place yet.
    std::span<const Region> regions;
};

struct GroupEvent {
    uint32_t number;  // in the order of the grid
    Position position;
    uint32_t num_threads;
    uint32_t first_epoch;  // of its threads; those of groups before had smaller ones
    // How often its threads ran each block of the kernel, thread after thread; at its end.
    std::span<const uint64_t> block_counts{};

    uint64_t runs(uint32_t thread, uint32_t block) const {
        return block_counts[thread * (block_counts.size() / num_threads) + block];
    }
};

class Listener {
  public:
    virtual ~Listener() = default;

    // A listener for threadgroups that run beside those that this one hears, and what it heard taken over
    // before the launch ends; null where all must be heard in order.
    virtual std::unique_ptr<Listener> fork() const { return nullptr; }
    virtual void join(const Listener&) {}
    // Whether accesses of an object, inside of it and at the alignment that they need, needn't be told.
    virtual bool is_quiet(const MemoryObject& object) const { return object.space == MemorySpace::kPrivate; }
    // Likewise, where a place of the code accesses one offset only: how often it runs says all.
    virtual bool is_quiet_where_fixed(const MemoryObject& object) const { return is_quiet(object); }
    // Whose turn it is, instead of access(), where this listener alone hears of an object: it is called with
    // the listener itself, for accesses of one size inside of buffers and threadgroup memory.
    virtual decltype(Ear::hear) ear() const { return nullptr; }
    // Whether call() and thread_ends() must be told. Products of 8x8 matrices and fences never are.
    virtual bool hears_calls() const { return true; }

    virtual void launch_begins(const LaunchEvent&) {}
    virtual void group_begins(const GroupEvent&) {}
    virtual void access(const Access&) {}
    virtual void call(const Call&) {}
    virtual void product(const Product&) {}
    virtual void tensor_access(const TensorAccess&) {}
    virtual void tensor(const TensorEvent&) {}
    virtual void stray_shuffle(const StrayShuffle&) {}
    virtual void thread_ends(const Thread&) {}
    virtual void group_ends(const GroupEvent&) {}
    virtual void launch_ends() {}
};

}  // namespace ingot::metal::check
