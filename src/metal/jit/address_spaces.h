// The last step to AIR: what address-space inference left generic. Calls that the library's headers spell
// with `flat` (or `p0` in a type suffix) get the name of their pointer's space; accesses through pointers
// that came from memory, or may point to several spaces, become device accesses, the space about which the
// least is assumed.
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"

namespace ingot::metal::jit {

Result<void> settle_address_spaces(llvm::Module& module);

// Strict mode's notes, calls of ingot.expect_space(pointer, space, name): an Error with file and line if a
// pointer is known to lead elsewhere. The calls go.
Result<void> check_declared_spaces(llvm::Module& module);

}  // namespace ingot::metal::jit
