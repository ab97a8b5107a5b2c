// Any bytes as a .npy file: an error, or an array that is as large as its shape says and survives a round
// trip.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace ingot::cli;
    const auto array = parse_npy({reinterpret_cast<const char*>(data), size});
    if (!array) return 0;
    if (array->data.size() != array->count() * array->type->size_bytes) std::abort();
    const auto again = parse_npy(npy_bytes(*array));
    if (!again || again->shape != array->shape || again->data != array->data) std::abort();
    return 0;
}
