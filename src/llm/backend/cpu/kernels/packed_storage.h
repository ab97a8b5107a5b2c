// Memory for packed weights: the matrices of a model lie one behind the other in large blocks, so that their
// sizes are not rounded up to huge pages one by one. What is in it is mat_mul.h's.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ingot::cpu {

class PackedStorage {
  public:
    // Blocks are made of this size, or of what is asked for if that is more.
    explicit PackedStorage(size_t block_bytes = size_t(64) << 20) : block_bytes_(block_bytes) {}

    // 64-byte aligned, lives as long as this object; null if the system has no memory. Pages become resident
    // when they are written.
    std::byte* take(size_t size_bytes);

  private:
    struct Free {
        void operator()(std::byte* bytes) const;
    };

    size_t block_bytes_;
    std::vector<std::unique_ptr<std::byte[], Free>> blocks_;
    std::byte* next_ = nullptr;  // in the last block
    size_t left_ = 0;
};

}  // namespace ingot::cpu
