// Metal 4 tensors: views and cooperative tensors become memory and calls of the runtime, for both executors.
// What a whole simdgroup does (a product, a reduction) stays one call that names its lane's operands.
#include "metal/jit/builtins/emitter.h"
#include "metal/jit/passes/inlining.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {

Result<void> lower_tensors(llvm::Module& module, PassState& state) {
    constexpr Family kFamilies[] = {lower_tensor_view, lower_tensor_operation};
    define_builtins(module, state, kFamilies);
    return inline_into_entry(module);
}

}  // namespace ingot::metal::jit
