// All passes, in pipeline order; each is described where it is defined.
#pragma once

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

Result<void> specialise_constants(llvm::Module& module, PassState& state);
Result<void> strip_promises(llvm::Module& module, PassState& state);
Result<void> move_threadgroup_globals(llvm::Module& module, PassState& state);
// What the threadgroup variables of a module take that the pass above hasn't seen yet.
uint32_t threadgroup_bytes(const llvm::Module& module);
Result<void> relax_alignment(llvm::Module& module, PassState& state);
Result<void> make_entry(llvm::Module& module, PassState& state);
Result<void> count_arithmetic(llvm::Module& module, PassState& state);
Result<void> lower_builtins(llvm::Module& module, PassState& state);
Result<void> inline_all(llvm::Module& module, PassState& state);
Result<void> reconverge(llvm::Module& module, PassState& state);
Result<void> hold_loops(llvm::Module& module, PassState& state);
Result<void> instrument(llvm::Module& module, PassState& state);
Result<void> lower_tensors(llvm::Module& module, PassState& state);
Result<void> lower_to_fibers(llvm::Module& module, PassState& state);
Result<void> optimise(llvm::Module& module, PassState& state);
Result<void> optimise_scalar(llvm::Module& module, PassState& state);
Result<void> tensors_in_registers(llvm::Module& module, PassState& state);
Result<void> shape_control(llvm::Module& module, PassState& state);
Result<void> vectorise(llvm::Module& module, PassState& state);
Result<void> optimise_lanes(llvm::Module& module, PassState& state);
Result<void> batch_matrices(llvm::Module& module, PassState& state);
Result<void> poll_loops(llvm::Module& module, PassState& state);
Result<void> fence_private(llvm::Module& module, PassState& state);
Result<void> inline_watch(llvm::Module& module, PassState& state);

}  // namespace ingot::metal::jit
