// Who watches a launch: the executor tells where groups begin and end, instrumented code (instrumentation.h)
// each access, each meeting and each thread's end, as far as the monitor wants to hear of them. A launch that
// is watched runs on fibers, and on one worker thread unless order doesn't matter to who watches, so that
// everything comes in the same order whenever it is repeated. Checkers and counters stand behind this
// (check/observer.h).
#pragma once

#include <compare>

#include "metal/exec/fibers/lane.h"
#include "metal/exec/fibers/tensor_types.h"
#include "metal/exec/kernel.h"

namespace ingot::metal {

// What a thread is about to do with memory.
struct RawAccess {
    uint32_t site = 0;
    void* address = nullptr;
    uint64_t size_bytes = 0;
    const void* base = nullptr;              // of the private variable or program constant that is meant
    uint64_t value_low = 0, value_high = 0;  // the first 16 bytes that a store brings
};

// Who hears of the accesses of one site that are as they should be: inside of its object, at the alignment
// that it needs. They are many, so they take a way of their own; whatever else a site does is told to
// access().
struct alignas(64) Ear {
    uint64_t begin = 0, num_places = 0;  // where such accesses begin; none: all are told to access()
    uint64_t align_mask = 0;
    void (*hear)(void* hearer, const fibers::Lane& thread, uint32_t site, uint64_t address,
                 uint64_t value_low, uint64_t value_high) = nullptr;
    void* hearer = nullptr;

    bool takes(uint64_t address) const { return address - begin < num_places && (address & align_mask) == 0; }
};

// What a matmul2d multiplies: m x k by k x n, by `threads` together.
struct ProductShape {
    int32_t m = 0, n = 0, k = 0;  // k as long as the operands are where the kernel leaves it open
    fibers::TensorType left{}, right{}, destination{};
    uint32_t threads = 0;

    auto operator<=>(const ProductShape&) const = default;
};

// A run of bytes that a tensor operation reads or writes.
struct TensorPiece {
    const void* address = nullptr;
    uint64_t size_bytes = 0;
    bool writes = false;
    const void* brings = nullptr;  // the bytes that are written
};

// What a thread does with a cooperative tensor.
struct TensorUse {
    enum What : uint32_t { kBegins, kElement, kPlace, kOperand };
    What what = kBegins;  // it begins to exist, an element's address or place is asked, it is multiplied
    const void* elements = nullptr;  // of the thread
    int32_t element = 0;             // of kElement and kPlace
    uint32_t operand = 0;            // 0 left, 1 right, 2 destination
    int32_t rows = 0, columns = 0;   // as stored
    uint32_t threads = 0;
    CooperativeLayout layout{};
};

class Monitor {
  public:
    virtual ~Monitor() = default;

    // Whether several workers may run the launch at once. Each then has the monitor that enter() gives it.
    virtual bool splits() const { return false; }
    virtual Monitor* enter() { return this; }

    virtual void begin_group(const fibers::Group& group) = 0;
    virtual void end_group(const fibers::Group& group) = 0;
    // By site; settled when a group has begun.
    const Ear* ears() const { return ears_; }
    // False keeps the access from happening: a write is dropped, a read gives 0.
    virtual bool access(const fibers::Lane& thread, const RawAccess& access) = 0;
    // `argument`: a barrier's memory flags, a shuffle's lane.
    virtual void call(const fibers::Lane& thread, uint32_t site, uint32_t argument) = 0;
    // A simdgroup's part of a matmul2d, whose first lane `thread` is, or a thread's own; after the calls that
    // led there.
    virtual void product(const fibers::Lane& thread, const ProductShape& shape) = 0;
    // What a tensor operation does to memory, piece by piece, after its call: `thread` does it for its
    // simdgroup. It happens in any case.
    virtual void tensor_access(const fibers::Lane& thread, uint32_t site, const TensorPiece& piece) = 0;
    virtual void tensor(const fibers::Lane& thread, const TensorUse& use) = 0;
    // A lane shuffles from one that takes no part, or doesn't exist.
    virtual void stray_shuffle(const fibers::Lane& thread, uint32_t source, bool exists) = 0;
    // How often each thread of the running group ran each block of the kernel (instrumentation.h), thread
    // after thread; the kernel's code adds to it.
    virtual uint64_t* block_counts() = 0;
    // Of each of the kernel's objects: accesses there needn't be told. Settled when a group has begun.
    virtual const fibers::QuietRange* quiet_ranges() const = 0;
    // Whether call() is told of more than tensor operations.
    virtual bool hears_calls() const = 0;

  protected:
    const Ear* ears_ = nullptr;
};

// Called by the runtime of tensor operations; does nothing where the running launch isn't watched.
void watch_tensor_access(const TensorPiece& piece);
bool is_tensor_watched();
// At the end of a watched group, on the thread that ran it.
void end_tensor_watch();

}  // namespace ingot::metal

// Called by instrumented code. The addresses that come back are where the access goes instead.
extern "C" {
void* ingot_watch_load(const ingot::metal::fibers::Lane* me, void* address, const void* base, uint32_t site);
void* ingot_watch_store(const ingot::metal::fibers::Lane* me, void* address, const void* base, uint32_t site,
                        uint64_t low, uint64_t high);
// How many of `size` bytes are copied or set: all or none.
uint64_t ingot_watch_copy(const ingot::metal::fibers::Lane* me, void* address, const void* base,
                          uint32_t site, uint64_t size);
void ingot_watch_tensor(const ingot::metal::fibers::Lane* me, uint32_t what, const void* elements,
                        uint32_t element, uint32_t operand, int32_t rows, int32_t columns, uint32_t threads,
                        uint32_t layout);
void ingot_watch_call(const ingot::metal::fibers::Lane* me, uint32_t site, uint32_t argument);
}
