// Stacks for the fibers of one worker: all of one size, a guard page below each, mapped lazily and kept from
// launch to launch. Neighbouring tops are shifted against each other, or all stacks' hot lines would meet in
// the same cache sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace ingot::metal::fibers {

// Unmapped addresses on both sides of what a kernel may write, so that no 32-bit index times 16 bytes reaches
// anything else.
constexpr size_t kFenceBytes = size_t{1} << 36;

class StackPool {
  public:
    StackPool() = default;
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;
    ~StackPool();

    // At least `count` stacks with `usable_bytes` each. Error kLimit if memory can't be mapped.
    Result<void> reserve(size_t count, size_t usable_bytes);

    // Where all of them lie, with what is kept unmapped between and around them.
    uint64_t begin() const;
    uint64_t size_bytes() const;

    // A fresh context for stack `index` that starts a fiber when resumed.
    void* fresh_context(size_t index) const;

  private:
    void release();

    unsigned char* base_ = nullptr;
    size_t count_ = 0;
    size_t stride_bytes_ = 0;
};

}  // namespace ingot::metal::fibers
