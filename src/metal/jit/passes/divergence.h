// Which values differ between the lanes of a simdgroup, and which blocks not all lanes run. Conservative:
// what isn't known to be uniform is divergent. Works on an entry function into which everything is inlined.
#pragma once

#include <set>

#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Function.h>

namespace ingot::metal::jit {

class Divergence {
  public:
    explicit Divergence(llvm::Function& function);

    bool is_divergent(const llvm::Value* value) const { return divergent_.contains(value); }
    // Blocks that run after `branch`'s block and before its post-dominator.
    std::set<const llvm::BasicBlock*> region(const llvm::BasicBlock* block) const;
    // Null if paths from the block never meet again.
    const llvm::BasicBlock* post_dominator(const llvm::BasicBlock* block) const;
    // True if some lanes may skip the block while others run it.
    bool is_partial(const llvm::BasicBlock* block) const { return partial_.contains(block); }

  private:
    bool step();
    bool mark(const llvm::Value* value) { return divergent_.insert(value).second; }
    bool computes_divergent(const llvm::Instruction& instruction) const;
    bool spread_from(const llvm::BasicBlock& block);

    llvm::Function& function_;
    llvm::PostDominatorTree post_dominators_;
    std::set<const llvm::Value*> divergent_;
    std::set<const llvm::BasicBlock*> partial_;
};

}  // namespace ingot::metal::jit
