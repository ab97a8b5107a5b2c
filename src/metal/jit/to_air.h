// From what clang makes of rewritten Metal source (src/metal/msl) to the form of Apple's modules: one kernel
// with pointers in Metal's address spaces, AIR metadata for arguments and function constants, `air.*` calls
// with the suffix of their pointers' space. Everything is inlined into the kernel and simplified, because
// only then do address spaces reach the accesses; nothing is done for a particular machine. The device's
// passes follow.
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"

namespace ingot::metal::jit {

// `name` becomes the kernel's. Errors: kCorrupt if the module isn't one of the front end's; what Metal
// doesn't have (recursion, calls of functions without a body) with the function's name.
Result<void> to_air(llvm::Module& module, std::string_view name);

}  // namespace ingot::metal::jit
