#include "metal/exec/air_form.h"

#include <dlfcn.h>

#include "metal/exec/compiler.h"

namespace ingot::metal {

AirModule to_air(std::span<const std::byte> module, std::string_view name) {
    INGOT_TRY(compiler());  // loads the library
    void* library = ::dlopen("libingot_metal_jit.so", RTLD_NOW | RTLD_NOLOAD);
    auto* convert =
        library == nullptr
            ? nullptr
            : reinterpret_cast<decltype(&ingot_metal_to_air)>(::dlsym(library, "ingot_metal_to_air"));
    if (convert == nullptr) {
        return fail(ErrorKind::kUnsupported,
                    "the Metal compiler is older than this program: build target "
                    "ingot_metal_jit");
    }
    AirModule result;
    convert(module, name, &result);
    ::dlclose(library);  // compiler() keeps it
    return result;
}

}  // namespace ingot::metal
