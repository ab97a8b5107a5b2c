// Accumulators of 8x8 matrix products (or of fragments) that a loop carries from one round to the next: they
// can stay where a product left them until the loop is left. Finds them; each executor has its own place for
// them.
#pragma once

#include <vector>

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit {

// An incoming value of a phi.
struct PhiInput {
    llvm::PHINode* phi;
    unsigned index;
};

// One accumulator: a phi, the products that add to it one after the other, what leaves the loop.
struct AccumulatorChain {
    llvm::PHINode* phi = nullptr;
    llvm::SmallVector<llvm::CallInst*> products;
    llvm::SmallVector<PhiInput> entries, exits;
};

// Of a loop in LCSSA form. Nothing but the chain itself uses the phi and the products, except for phis
// outside of the loop, on plain branches, that use the last one.
std::vector<AccumulatorChain> find_accumulators(const llvm::Loop& loop, const llvm::Function& mma,
                                                const llvm::LoopInfo& loops);

}  // namespace ingot::metal::jit
