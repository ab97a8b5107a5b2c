#include "tile/library/library.h"

namespace ingot::tile {

std::string_view LibraryKernel::summary() const {
    if (!text.starts_with("// ")) return {};
    return text.substr(3, text.find('\n') - 3);
}

Result<const LibraryKernel*> library_kernel(std::string_view name) {
    std::string names;
    for (const LibraryKernel& k : library()) {
        if (k.name == name) return &k;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", k.name);
    }
    return fail(ErrorKind::kNotFound, "no kernel '{}' in the library; there are {}", name, names);
}

}  // namespace ingot::tile
