// Shared by the passes that leave one function behind (and those that call themselves).
#pragma once

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

// Inlines every defined function into the entry and deletes it, except those that call themselves and what
// they call.
Result<void> inline_into_entry(llvm::Module& module);

}  // namespace ingot::metal::jit
