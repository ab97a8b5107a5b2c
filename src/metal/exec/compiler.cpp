#include "metal/exec/compiler.h"

#include <filesystem>

#include <dlfcn.h>

#include "metal/exec/fibers/matmul.h"
#include "metal/exec/fibers/matrix.h"
#include "metal/exec/fibers/scheduler.h"
#include "metal/exec/fibers/simd_functions.h"
#include "metal/exec/fibers/tensor_operations.h"
#include "metal/exec/kernel_log.h"
#include "metal/exec/lanes/matrix.h"

namespace ingot::metal {
namespace {

template <typename Function>
RuntimeSymbol symbol(std::string_view name, Function* function) {
    return {name, reinterpret_cast<void*>(function)};
}

// What generated code may call of the fiber runtime.
const RuntimeSymbol kRuntime[] = {
    symbol("ingot_barrier", ingot_barrier),
    symbol("ingot_simdgroup_barrier", ingot_simdgroup_barrier),
    symbol("ingot_stop", ingot_stop),
    symbol("ingot_os_log", ingot_os_log),
    symbol("ingot_simd", ingot_simd),
    symbol("ingot_multiply_matrices", ingot_multiply_matrices),
    symbol("ingot_lanes_multiply", ingot_lanes_multiply),
    symbol("ingot_tensor_init", ingot_tensor_init),
    symbol("ingot_tensor_slice", ingot_tensor_slice),
    symbol("ingot_matmul2d", ingot_matmul2d),
    symbol("ingot_cooperative_copy", ingot_cooperative_copy),
    symbol("ingot_cooperative_coordinate", ingot_cooperative_coordinate),
    symbol("ingot_cooperative_spoil", ingot_cooperative_spoil),
    symbol("ingot_cooperative_reduce", ingot_cooperative_reduce),
};

constexpr const char* kLibraryName = "libingot_metal_jit.so";

// Next to the program, in ../lib beside it, or wherever the system's loader looks.
std::vector<std::string> candidates() {
    std::vector<std::string> paths;
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
        paths.push_back(program.parent_path() / kLibraryName);
        paths.push_back(program.parent_path().parent_path() / "lib" / kLibraryName);
    }
    paths.emplace_back(kLibraryName);
    return paths;
}

Result<Compiler*> load() {
    std::string why;
    for (const std::string& path : candidates()) {
        void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            // What is wrong with a file that is there says more than that others aren't.
            if (const std::string error = ::dlerror(); why.empty() || std::filesystem::exists(path))
                why = error;
            continue;
        }
        auto* make = reinterpret_cast<decltype(&ingot_metal_make_compiler)>(
            ::dlsym(library, "ingot_metal_make_compiler"));
        if (make == nullptr)
            return fail(ErrorKind::kUnsupported, "{} is no Metal compiler of this program", path);
        return make(kRuntime, std::size(kRuntime));
    }
    return fail(ErrorKind::kUnsupported,
                "the Metal compiler isn't installed ({}): build target ingot_metal_jit, which needs LLVM 19",
                why);
}

}  // namespace

Result<Compiler*> compiler() {
    static const Result<Compiler*> loaded = load();
    return loaded;
}

}  // namespace ingot::metal
