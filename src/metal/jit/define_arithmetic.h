// Gives operations of C++ that Metal defines more of their meaning: conversions of floating-point values to
// integers truncate, saturate and take NaN for 0; shift amounts wrap at the width of the value. For modules
// that come from Metal source through clang, before anything is optimised; Apple's compiler emits both
// already.
// Where clang has folded an expression of constants that C++ leaves undefined (1 << 40, 1 / 0), what it meant
// is gone: an Error with the lines.
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"

namespace ingot::metal::jit {

Result<void> define_arithmetic(llvm::Module& module);

}  // namespace ingot::metal::jit
