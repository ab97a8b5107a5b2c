#include "metal/exec/fibers/stacks.h"

#include <sys/mman.h>
#include <unistd.h>

#include "metal/exec/fibers/scheduler.h"

namespace ingot::metal::fibers {
namespace {

constexpr size_t kLineBytes = 64;
constexpr size_t kColours = 32;
constexpr size_t kColourBytes = 3 * kLineBytes;

}  // namespace

StackPool::~StackPool() {
    release();
}

uint64_t StackPool::begin() const {
    return reinterpret_cast<uint64_t>(base_) - kFenceBytes;
}

uint64_t StackPool::size_bytes() const {
    return 2 * kFenceBytes + count_ * stride_bytes_;
}

void StackPool::release() {
    if (base_ != nullptr) ::munmap(base_ - kFenceBytes, size_bytes());
    base_ = nullptr;
    count_ = 0;
}

Result<void> StackPool::reserve(size_t count, size_t usable_bytes) {
    const size_t page = size_t(::sysconf(_SC_PAGESIZE));
    // An odd number of pages: with a power of two the tops of all stacks would compete for few entries of the
    // processor's address translation.
    const size_t stride = ((usable_bytes + kColours * kColourBytes + page) / page | 1) * page + 2 * page;
    if (count <= count_ && stride <= stride_bytes_) return {};
    release();
    void* memory = ::mmap(nullptr, 2 * kFenceBytes + count * stride, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return fail(ErrorKind::kLimit, "can't map {} stacks of {} bytes", count, stride);
    }
    base_ = static_cast<unsigned char*>(memory) + kFenceBytes;
    count_ = count;
    stride_bytes_ = stride;
    if (::mprotect(base_, count * stride, PROT_READ | PROT_WRITE) != 0) {
        return fail(ErrorKind::kLimit, "can't map {} stacks of {} bytes", count, stride);
    }
    for (size_t i = 0; i < count; ++i) {
        // Without the guard an overflow would run into the neighbour; the system may have run out of
        // mappings.
        if (::mprotect(base_ + i * stride, page, PROT_NONE) != 0) {
            return fail(ErrorKind::kLimit, "can't protect the {} stacks of a threadgroup", count);
        }
    }
    return {};
}

void* StackPool::fresh_context(size_t index) const {
    const size_t colour = index * 5 % kColours * kColourBytes;
    unsigned char* top = base_ + (index + 1) * stride_bytes_ - colour;
    return make_lane_context(top, stride_bytes_ - colour);
}

}  // namespace ingot::metal::fibers
