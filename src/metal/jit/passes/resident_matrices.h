// Accumulators of 8x8 products that a loop carries from one iteration to the next: a lane would store its
// elements to the simdgroup's matrix slots before each meeting and load them after it. Such an accumulator
// gets a slot of its own instead, which holds it while the loop runs. Part of batch_matrices.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit {

// Finds the accumulators, stores them to their slots ahead of the loop and loads them where the loop is left.
// `elements` is the lane's first element of slot 0. Result: the slot of every product that takes part.
llvm::DenseMap<llvm::CallInst*, uint32_t> keep_accumulators_in_slots(llvm::Function& entry,
                                                                     const llvm::Function& mma,
                                                                     llvm::Value* elements);

// Address of the lane's elements in `slot`.
llvm::Value* matrix_slot(llvm::IRBuilder<>& b, llvm::Value* elements, uint32_t slot);

}  // namespace ingot::metal::jit
