// Any bytes as a .metallib: an error, or functions whose names, modules and reflection lie inside the file.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "metal/air/library_file.h"
#include "metal/air/reflection.h"

namespace {

volatile uint64_t g_sink;

void use(const ingot::metal::LibraryFile& file) {
    uint64_t sum = 0;
    for (const auto& function : file.functions()) {
        if (file.find(function.name) != &function) std::abort();
        for (const std::byte byte : function.bitcode) sum += uint8_t(byte);
        for (const std::byte byte : function.constants) sum += uint8_t(byte);
        for (const std::byte byte : function.hash) sum += uint8_t(byte);
        const auto info = file.reflect(function);
        if (!info) continue;
        for (const auto& argument : info->arguments) sum += argument.name.size() + argument.type_name.size();
        for (const auto& constant : info->constants) sum += constant.index;
    }
    g_sink = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto file = ingot::metal::LibraryFile::from_bytes(bytes, "fuzz");
    if (file) {
        use(*file);
    } else if (file.error().describe().empty()) {
        std::abort();
    }
    // A reflection section by itself, without a container that must fit around it.
    (void)ingot::metal::parse_reflection(bytes, 0);
    return 0;
}
