#include "metal/jit/passes/resident_matrices.h"

#include <vector>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include "metal/exec/fibers/lane.h"

namespace ingot::metal::jit {
namespace {

constexpr unsigned kAccumulator = 2;  // operand of a product
constexpr uint64_t kMatrixElements = 64;

llvm::CallInst* as_product(llvm::User* user, const llvm::Function& mma) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    return call != nullptr && call->getCalledFunction() == &mma ? call : nullptr;
}

// An incoming value of a phi.
struct Incoming {
    llvm::PHINode* phi;
    unsigned index;
};

// One accumulator: a phi, the products that add to it one after the other, what leaves the loop.
struct Chain {
    llvm::PHINode* phi = nullptr;
    llvm::SmallVector<llvm::CallInst*> products;
    llvm::SmallVector<Incoming> entries, exits;
};

// The only product that `value` is an accumulator of, if that is its only use.
llvm::CallInst* next_product(llvm::Value* value, const llvm::Loop& loop, const llvm::Function& mma,
                             const llvm::LoopInfo& loops) {
    if (!value->hasOneUse()) return nullptr;
    const llvm::Use& use = *value->use_begin();
    llvm::CallInst* product = as_product(use.getUser(), mma);
    const bool accumulates = product != nullptr && use.getOperandNo() == kAccumulator;
    return accumulates && loops.getLoopFor(product->getParent()) == &loop ? product : nullptr;
}

// Whether the value goes nowhere but to the phi and, over plain branches, to phis at the loop's exits.
bool ends_chain(llvm::CallInst* last, Chain& chain, const llvm::Loop& loop) {
    bool to_phi = false;
    chain.exits.clear();
    for (llvm::Use& use : last->uses()) {
        auto* phi = llvm::dyn_cast<llvm::PHINode>(use.getUser());
        if (phi == nullptr) return false;
        if (phi == chain.phi) {
            to_phi = true;
        } else if (!loop.contains(phi) &&
                   llvm::isa<llvm::BranchInst>(phi->getIncomingBlock(use)->getTerminator())) {
            chain.exits.push_back({phi, use.getOperandNo()});
        } else {
            return false;
        }
    }
    return to_phi;
}

// Whether every way round the loop brings the chain's end; notes the ways in.
bool closes(Chain& chain, const llvm::Loop& loop) {
    for (unsigned i = 0; i < chain.phi->getNumIncomingValues(); ++i) {
        if (!loop.contains(chain.phi->getIncomingBlock(i))) {
            chain.entries.push_back({chain.phi, i});
        } else if (chain.phi->getIncomingValue(i) != chain.products.back()) {
            return false;
        }
    }
    return true;
}

bool follow(Chain& chain, const llvm::Loop& loop, const llvm::Function& mma, const llvm::LoopInfo& loops) {
    llvm::Value* value = chain.phi;
    while (llvm::CallInst* product = next_product(value, loop, mma, loops)) {
        chain.products.push_back(product);
        if (ends_chain(product, chain, loop)) return closes(chain, loop);
        value = product;
    }
    return false;
}

void store_ahead(const Chain& chain, llvm::Value* elements, uint32_t slot) {
    for (const Incoming& entry : chain.entries) {
        llvm::IRBuilder<> b(entry.phi->getIncomingBlock(entry.index)->getTerminator());
        b.CreateAlignedStore(entry.phi->getIncomingValue(entry.index), matrix_slot(b, elements, slot),
                             llvm::Align(8));
    }
}

// Loads go to the edges that leave the loop, in blocks of their own: the exiting block runs in every
// iteration.
class ExitEdges {
  public:
    void load(const Chain& chain, llvm::Value* elements, uint32_t slot) {
        for (const Incoming& exit : chain.exits) {
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
    std::vector<Chain> chains;
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
        llvm::formLCSSA(*loop, dominators, &loops, nullptr);
        for (llvm::PHINode& phi : loop->getHeader()->phis()) {
            Chain chain;
            chain.phi = &phi;
            if (follow(chain, *loop, mma, loops)) chains.push_back(std::move(chain));
        }
    }
    constexpr size_t kMost = fibers::kMatrixSlots - fibers::kBatchSlots;
    if (chains.size() > kMost) chains.resize(kMost);
    llvm::DenseMap<llvm::CallInst*, uint32_t> slots;
    ExitEdges exits;
    uint32_t slot = fibers::kBatchSlots;
    for (const Chain& chain : chains) {
        exits.load(chain, elements, slot);
        for (llvm::CallInst* product : chain.products) slots[product] = slot;
        ++slot;
    }
    // Afterwards: what one loop leaves behind may be what the next one starts with.
    for (const Chain& chain : chains) {
        store_ahead(chain, elements, slots[chain.products.front()]);
        chain.phi->replaceAllUsesWith(llvm::PoisonValue::get(chain.phi->getType()));
        chain.phi->eraseFromParent();
    }
    return slots;
}

}  // namespace ingot::metal::jit
