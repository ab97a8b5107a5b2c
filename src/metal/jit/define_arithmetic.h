// Gives operations of C++ that Metal defines more of their meaning: conversions of floating-point values to
// integers truncate, saturate and take NaN for 0; shift amounts wrap at the width of the value. For modules
// that come from Metal source through clang, before anything is optimised; Apple's compiler emits both
// already.
#pragma once

#include <llvm/IR/Module.h>

namespace ingot::metal::jit {

void define_arithmetic(llvm::Module& module);

}  // namespace ingot::metal::jit
