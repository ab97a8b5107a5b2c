#include "metal/exec/compiler.h"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>

#include "metal/exec/cache_folder.h"
#include "metal/exec/device_compiler.h"
#include "metal/exec/fibers/matmul.h"
#include "metal/exec/fibers/matrix.h"
#include "metal/exec/fibers/scheduler.h"
#include "metal/exec/fibers/simd_functions.h"
#include "metal/exec/fibers/tensor_operations.h"
#include "metal/exec/kernel_log.h"
#include "metal/exec/lanes/fragments.h"
#include "metal/exec/lanes/matrix.h"
#include "metal/exec/lanes/memory.h"
#include "metal/exec/local_compiler.h"
#include "metal/exec/monitor.h"

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
    symbol("ingot_watch_load", ingot_watch_load),
    symbol("ingot_watch_store", ingot_watch_store),
    symbol("ingot_watch_copy", ingot_watch_copy),
    symbol("ingot_watch_call", ingot_watch_call),
    symbol("ingot_watch_tensor", ingot_watch_tensor),
    symbol("ingot_multiply_matrices", ingot_multiply_matrices),
    symbol("ingot_lanes_multiply", ingot_lanes_multiply),
    symbol("ingot_lanes_multiply_fragments", ingot_lanes_multiply_fragments),
#define X(bits)                                                                   \
    symbol("ingot_lanes_load" #bits, ingot_lanes_load##bits),                     \
        symbol("ingot_lanes_store" #bits, ingot_lanes_store##bits),               \
        symbol("ingot_lanes_strided_load" #bits, ingot_lanes_strided_load##bits), \
        symbol("ingot_lanes_strided_store" #bits, ingot_lanes_strided_store##bits),
    INGOT_LANES_MEMORY(X)
#undef X
        symbol("ingot_tensor_init", ingot_tensor_init),
    symbol("ingot_tensor_slice", ingot_tensor_slice),
    symbol("ingot_matmul2d", ingot_matmul2d),
    symbol("ingot_lanes_matmul2d", ingot_lanes_matmul2d),
    symbol("ingot_lanes_cooperative_reduce", ingot_lanes_cooperative_reduce),
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

struct Loaded {
    Compiler* compiler;
    std::string library_path;
};

Result<Loaded> load() {
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
        Dl_info found{};
        ::dladdr(reinterpret_cast<void*>(make), &found);
        return Loaded{make(kRuntime, std::size(kRuntime)),
                      found.dli_fname != nullptr ? found.dli_fname : path};
    }
    return fail(ErrorKind::kUnsupported,
                "the Metal compiler isn't installed ({}): build target ingot_metal_jit, which needs LLVM 19",
                why);
}

const Result<Loaded>& loaded() {
    static const Result<Loaded> once = load();
    return once;
}

Result<Compiler*> make_device_compiler() {
    INGOT_ASSIGN(Compiler * local, local_compiler());
    INGOT_ASSIGN(std::string worker, compiler_worker_program());
    return new DeviceCompiler(*local, std::move(worker), cache_folder(kObjectCache));
}

}  // namespace

Result<Compiler*> local_compiler() {
    return loaded().map([](const Loaded& library) { return library.compiler; });
}

Result<std::string> compiler_worker_program() {
    return loaded().map([](const Loaded& library) {
        return (std::filesystem::path(library.library_path).parent_path() / "ingot_metal_worker").string();
    });
}

bool trusts_files() {
    const char* chosen = std::getenv("INGOT_METAL_TRUST");
    return chosen != nullptr && std::string_view(chosen) == "1";
}

Result<Compiler*> compiler() {
    static const Result<Compiler*> made = make_device_compiler();
    return made;
}

}  // namespace ingot::metal
