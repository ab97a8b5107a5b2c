// Bytes as libdispatch hands them out: enough of it to make a library of data in memory.
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "metal/api/objects.h"

struct IngotDispatchData {
    void* bytes;
    std::size_t size;
    std::atomic<uint64_t> references{1};
};

namespace ingot::metal::api {

dispatch_data_t make_dispatch_data(const void* bytes, std::size_t size, bool take_over) {
    void* kept = const_cast<void*>(bytes);
    if (!take_over) {
        kept = std::malloc(size + 1);
        INGOT_CHECK(kept != nullptr, "no memory for a copy of {} bytes", size);
        if (size != 0) std::memcpy(kept, bytes, size);
    }
    return new IngotDispatchData{.bytes = kept, .size = size};
}

void retain_dispatch_data(dispatch_data_t data) {
    data->references.fetch_add(1, std::memory_order_relaxed);
}

void release_dispatch_data(dispatch_data_t data) {
    if (data->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    std::free(data->bytes);
    delete data;
}

std::size_t dispatch_data_size(dispatch_data_t data) {
    return data->size;
}

std::span<const std::byte> bytes_of(dispatch_data_t data) {
    return {static_cast<const std::byte*>(data->bytes), data->size};
}

}  // namespace ingot::metal::api
