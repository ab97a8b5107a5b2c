// The few calls of libdispatch that Device::newLibrary(dispatch_data_t, ...) needs, for systems without it. A
// program uses either these or libdispatch's own header, not both.
#pragma once

#include <cstddef>

using dispatch_data_t = struct IngotDispatchData*;
using dispatch_queue_t = struct IngotDispatchQueue*;

namespace ingot::metal::api {

dispatch_data_t make_dispatch_data(const void* bytes, std::size_t size, bool take_over);
void retain_dispatch_data(dispatch_data_t data);
void release_dispatch_data(dispatch_data_t data);
std::size_t dispatch_data_size(dispatch_data_t data);

}  // namespace ingot::metal::api

enum class IngotDataDestructor { kCopy, kFree };
constexpr IngotDataDestructor DISPATCH_DATA_DESTRUCTOR_DEFAULT = IngotDataDestructor::kCopy,
                              DISPATCH_DATA_DESTRUCTOR_FREE = IngotDataDestructor::kFree;

// Copies the bytes, or frees them with the data object (they came from malloc). `queue` isn't used.
inline dispatch_data_t dispatch_data_create(const void* bytes, std::size_t size, dispatch_queue_t,
                                            IngotDataDestructor destructor) {
    return ingot::metal::api::make_dispatch_data(bytes, size, destructor == DISPATCH_DATA_DESTRUCTOR_FREE);
}
inline std::size_t dispatch_data_get_size(dispatch_data_t data) {
    return ingot::metal::api::dispatch_data_size(data);
}
inline void dispatch_retain(dispatch_data_t data) {
    ingot::metal::api::retain_dispatch_data(data);
}
inline void dispatch_release(dispatch_data_t data) {
    ingot::metal::api::release_dispatch_data(data);
}
