// Loads of what a wider load has just read become parts of its value. LLVM leaves them alone where vectors of
// different lengths overlap, as they do behind LoadStoreVectorizer. Part of optimise_scalar.
#pragma once

#include <llvm/IR/Function.h>

namespace ingot::metal::jit {

// Looks at each block alone, from one instruction that may write to the next.
void reuse_loads(llvm::Function& function);

}  // namespace ingot::metal::jit
