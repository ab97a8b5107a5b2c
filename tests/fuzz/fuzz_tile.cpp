// The reader of .tile text: whatever comes in, an Error or a program that prints and reads back as itself.
#include <cstdlib>

#include "tile/ir/parse.h"
#include "tile/ir/print.h"
#include "tile/ir/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace ingot::tile;
    const auto k = parse(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.tile");
    if (!k || !verify(*k)) return 0;
    const auto again = parse(print(*k), "again.tile");
    if (!again || !same_program(*k, *again)) std::abort();
    return 0;
}
