// Shared by the passes that leave one function behind.
#pragma once

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

// Inlines every defined function into the entry and deletes them.
Result<void> inline_into_entry(llvm::Module& module);

}  // namespace ingot::metal::jit
