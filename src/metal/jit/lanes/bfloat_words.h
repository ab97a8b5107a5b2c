// Vectors of bfloat as vectors of 16-bit integers. Processors that don't compute with bfloat have no
// registers for them in LLVM either: it takes a vector apart, element by element, wherever one is chosen,
// shuffled or crosses a block, which costs minutes in a large kernel. Here bfloats are moved only; computing
// is in float.
#pragma once

#include <llvm/IR/Function.h>

namespace ingot::metal::jit::lanes {

void keep_bfloats_as_words(llvm::Function& function);

}  // namespace ingot::metal::jit::lanes
