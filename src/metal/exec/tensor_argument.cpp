#include "metal/exec/tensor_argument.h"

#include <cstring>

#include "base/check.h"

namespace ingot::metal {

std::vector<std::byte> tensor_argument(const void* elements, std::span<const int32_t> extents,
                                       std::span<const int32_t> strides) {
    INGOT_CHECK(extents.size() == strides.size());
    constexpr int32_t kType = 0;  // the kernel knows its own
    const auto rank = int32_t(extents.size());
    std::vector<std::byte> record;
    const auto append = [&](const void* data, size_t size) {
        const auto* bytes = static_cast<const std::byte*>(data);
        record.insert(record.end(), bytes, bytes + size);
    };
    append(&elements, sizeof elements);
    append(&kType, sizeof kType);
    append(&rank, sizeof rank);
    append(extents.data(), extents.size_bytes());
    append(strides.data(), strides.size_bytes());
    return record;
}

std::vector<int32_t> dense_strides(std::span<const int32_t> extents) {
    std::vector<int32_t> strides;
    int32_t stride = 1;
    for (const int32_t extent : extents) {
        strides.push_back(stride);
        stride *= extent;
    }
    return strides;
}

}  // namespace ingot::metal
