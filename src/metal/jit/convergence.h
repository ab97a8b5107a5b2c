// Who meets other threads. In C++ only the functions at the bottom say so (barriers, simdgroup functions);
// whoever calls one is convergent as well, and LLVM wants to be told: it would copy a call of a helper with a
// barrier into both sides of a branch, where threads of one simdgroup then wait at different barriers.
#pragma once

#include <llvm/IR/Module.h>

namespace ingot::metal::jit {

// Marks the functions that call convergent ones, and those calls.
void mark_convergent(llvm::Module& module);

}  // namespace ingot::metal::jit
