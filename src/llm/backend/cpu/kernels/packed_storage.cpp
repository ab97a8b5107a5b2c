#include "llm/backend/cpu/kernels/packed_storage.h"

#include <algorithm>
#include <cstdlib>

#include "base/round_up.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ingot::cpu {
namespace {

constexpr size_t kHugePage = size_t(2) << 20;

}  // namespace

void PackedStorage::Free::operator()(std::byte* bytes) const {
    std::free(bytes);
}

std::byte* PackedStorage::take(size_t size_bytes) {
    const size_t size = round_up(std::max<size_t>(size_bytes, 1), 64);
    if (size > left_) {
        const size_t wanted = std::max(size, block_bytes_);
        const size_t alignment = wanted >= kHugePage ? kHugePage : 64;
        const size_t block = round_up(wanted, alignment);
        auto* bytes = static_cast<std::byte*>(std::aligned_alloc(alignment, block));
        if (bytes == nullptr) return nullptr;
#if defined(__linux__)
        if (alignment == kHugePage) madvise(bytes, block, MADV_HUGEPAGE);
#endif
        blocks_.emplace_back(bytes);
        next_ = bytes;
        left_ = block;
    }
    std::byte* taken = next_;
    next_ += size;
    left_ -= size;
    return taken;
}

}  // namespace ingot::cpu
