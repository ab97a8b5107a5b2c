#include "metal/jit/passes/resident_matrices.h"

#include <vector>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "metal/exec/fibers/lane.h"
#include "metal/jit/accumulators.h"

namespace ingot::metal::jit {
namespace {

constexpr uint64_t kMatrixElements = 64;

void store_ahead(const AccumulatorChain& chain, llvm::Value* elements, uint32_t slot) {
    for (const PhiInput& entry : chain.entries) {
        llvm::IRBuilder<> b(entry.phi->getIncomingBlock(entry.index)->getTerminator());
        b.CreateAlignedStore(entry.phi->getIncomingValue(entry.index), matrix_slot(b, elements, slot),
                             llvm::Align(8));
    }
}

// Loads go to the edges that leave the loop, in blocks of their own: the exiting block runs in every
// iteration.
class ExitEdges {
  public:
    void load(const AccumulatorChain& chain, llvm::Value* elements, uint32_t slot) {
        for (const PhiInput& exit : chain.exits) {
            llvm::IRBuilder<> b(
                edge(exit.phi->getIncomingBlock(exit.index), exit.phi->getParent())->getTerminator());
            llvm::Value* address = matrix_slot(b, elements, slot);
            exit.phi->setIncomingValue(exit.index,
                                       b.CreateAlignedLoad(exit.phi->getType(), address, llvm::Align(8)));
        }
    }

  private:
    llvm::BasicBlock* edge(llvm::BasicBlock* from, llvm::BasicBlock* to) {
        if (blocks_.contains(from)) return from;
        auto* block = llvm::BasicBlock::Create(to->getContext(), "", to->getParent(), to);
        llvm::BranchInst::Create(to, block);
        from->getTerminator()->replaceSuccessorWith(to, block);
        to->replacePhiUsesWith(from, block);
        blocks_.insert(block);
        return block;
    }

    llvm::SmallPtrSet<llvm::BasicBlock*, 8> blocks_;
};

}  // namespace

llvm::Value* matrix_slot(llvm::IRBuilder<>& b, llvm::Value* elements, uint32_t slot) {
    return b.CreateConstInBoundsGEP1_64(b.getFloatTy(), elements, kMatrixElements * slot);
}

llvm::DenseMap<llvm::CallInst*, uint32_t> keep_accumulators_in_slots(llvm::Function& entry,
                                                                     const llvm::Function& mma,
                                                                     llvm::Value* elements) {
    llvm::DominatorTree dominators(entry);
    llvm::LoopInfo loops(dominators);
    std::vector<AccumulatorChain> chains;
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
        llvm::formLCSSA(*loop, dominators, &loops, nullptr);
        for (AccumulatorChain& chain : find_accumulators(*loop, mma, loops))
            chains.push_back(std::move(chain));
    }
    constexpr size_t kMost = fibers::kMatrixSlots - fibers::kBatchSlots;
    if (chains.size() > kMost) chains.resize(kMost);
    llvm::DenseMap<llvm::CallInst*, uint32_t> slots;
    ExitEdges exits;
    uint32_t slot = fibers::kBatchSlots;
    for (const AccumulatorChain& chain : chains) {
        exits.load(chain, elements, slot);
        for (llvm::CallInst* product : chain.products) slots[product] = slot;
        ++slot;
    }
    // Afterwards: what one loop leaves behind may be what the next one starts with.
    for (const AccumulatorChain& chain : chains) {
        store_ahead(chain, elements, slots[chain.products.front()]);
        chain.phi->replaceAllUsesWith(llvm::PoisonValue::get(chain.phi->getType()));
        chain.phi->eraseFromParent();
    }
    return slots;
}

}  // namespace ingot::metal::jit
