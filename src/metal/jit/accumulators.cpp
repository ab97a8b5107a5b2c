#include "metal/jit/accumulators.h"

namespace ingot::metal::jit {
namespace {

constexpr unsigned kAccumulator = 2;  // operand of a product

llvm::CallInst* as_product(llvm::User* user, const llvm::Function& mma) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    return call != nullptr && call->getCalledFunction() == &mma ? call : nullptr;
}

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
bool ends_chain(llvm::CallInst* last, AccumulatorChain& chain, const llvm::Loop& loop) {
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
bool closes(AccumulatorChain& chain, const llvm::Loop& loop) {
    for (unsigned i = 0; i < chain.phi->getNumIncomingValues(); ++i) {
        if (!loop.contains(chain.phi->getIncomingBlock(i))) {
            chain.entries.push_back({chain.phi, i});
        } else if (chain.phi->getIncomingValue(i) != chain.products.back()) {
            return false;
        }
    }
    return true;
}

bool follow(AccumulatorChain& chain, const llvm::Loop& loop, const llvm::Function& mma,
            const llvm::LoopInfo& loops) {
    llvm::Value* value = chain.phi;
    while (llvm::CallInst* product = next_product(value, loop, mma, loops)) {
        chain.products.push_back(product);
        if (ends_chain(product, chain, loop)) return closes(chain, loop);
        value = product;
    }
    return false;
}

}  // namespace

std::vector<AccumulatorChain> find_accumulators(const llvm::Loop& loop, const llvm::Function& mma,
                                                const llvm::LoopInfo& loops) {
    std::vector<AccumulatorChain> chains;
    for (llvm::PHINode& phi : loop.getHeader()->phis()) {
        AccumulatorChain chain;
        chain.phi = &phi;
        if (follow(chain, loop, mma, loops)) chains.push_back(std::move(chain));
    }
    return chains;
}

}  // namespace ingot::metal::jit
