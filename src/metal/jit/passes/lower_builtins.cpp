// Replaces the calls of AIR's built-in functions that mean the same on every executor by IR. Barriers,
// simdgroup functions and tensor operations stay calls for the executor's own lowering.
#include "metal/jit/builtins/emitter.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {

Result<void> lower_builtins(llvm::Module& module, PassState& state) {
    constexpr Family kFamilies[] = {lower_convert, lower_matrix,  lower_query, lower_atomic,
                                    lower_math,    lower_integer, lower_pack};
    define_builtins(module, state, kFamilies);
    return {};
}

}  // namespace ingot::metal::jit
