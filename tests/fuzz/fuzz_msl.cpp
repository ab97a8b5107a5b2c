// Any bytes as preprocessed Metal source: entries and a translation unit, or an Error; never a crash or a
// hang.
#include <cstdint>
#include <string>

#include "metal/msl/rewrite.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace ingot::metal::msl;
    std::string text(reinterpret_cast<const char*>(data), size);
    const auto program = Program::rewrite(std::move(text), "fuzz.metal");
    if (!program) return 0;
    for (const EntryPoint& entry : program->entries()) {
        const auto unit = program->translation_unit(&entry);
        // The requested function is always named.
        if (unit && unit->find("ingot_entry_function") == std::string::npos) __builtin_trap();
    }
    return 0;
}
