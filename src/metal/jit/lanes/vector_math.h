// Mathematical functions on 8 floats at once: those of glibc's libmvec on x86-64, which state an error of at
// most 4 units in the last place. Elsewhere there are none, and functions are called once a lane.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include "metal/exec/compiler.h"

namespace ingot::metal::jit::lanes {

constexpr unsigned kMathLanes = 8;

// The vector form of "expf" or "llvm.exp"; null if there is none.
const char* vector_function(llvm::StringRef scalar);

// What generated code may call.
llvm::ArrayRef<RuntimeSymbol> vector_math_symbols();

}  // namespace ingot::metal::jit::lanes
