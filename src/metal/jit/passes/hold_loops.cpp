// Lanes must not get a round of a loop ahead of each other: a lane that skips `if (c) x = simd_sum(x)` would
// come to the next round's sum while the others are at this one's, and meet them. So lanes meet at the end of
// a round where that can happen: where some may skip a simdgroup function, and nothing after it holds all of
// them up.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/jit/passes/block_order.h"
#include "metal/jit/passes/divergence.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

bool is_simdgroup_function(llvm::StringRef name) {
    return name.starts_with("air.simd_") || name.starts_with("air.quad_");
}

// A barrier without flags doesn't wait.
bool is_barrier(const llvm::CallInst& call, llvm::StringRef name) {
    if (name != "air.simdgroup.barrier" && name != "air.wg.barrier") return false;
    const auto* flags = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    return name == "air.wg.barrier" || (flags != nullptr && !flags->isZero());
}

class Rounds {
  public:
    explicit Rounds(llvm::Function& function)
        : dominators_(function),
          loops_(dominators_),
          divergence_(function),
          order_(block_order(function, loops_)) {}

    std::vector<llvm::Loop*> loops_to_hold() {
        std::vector<llvm::Loop*> found;
        for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
            if (lanes_may_drift(*loop)) found.push_back(loop);
        }
        return found;
    }

    // The one block that ends each round.
    llvm::BasicBlock* latch(llvm::Loop& loop) {
        if (llvm::BasicBlock* single = loop.getLoopLatch()) return single;
        llvm::SmallVector<llvm::BasicBlock*> latches;
        loop.getLoopLatches(latches);
        return llvm::SplitBlockPredecessors(loop.getHeader(), latches, ".round", &dominators_, &loops_);
    }

  private:
    bool lanes_may_drift(const llvm::Loop& loop) const {
        bool drift = false;
        for (const llvm::BasicBlock* block : order_) {
            if (!loop.contains(block)) continue;
            const bool every_round = loops_.getLoopFor(block) == &loop && ends_every_round(*block, loop);
            for (const llvm::Instruction& instruction : *block) {
                const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
                if (call == nullptr || call->getCalledFunction() == nullptr) continue;
                const llvm::StringRef name = call->getCalledFunction()->getName();
                const bool meets = is_simdgroup_function(name);
                if (every_round && (meets || is_barrier(*call, name))) {
                    drift = false;
                } else if (meets && divergence_.is_partial(block)) {
                    drift = true;
                }
            }
        }
        return drift;
    }

    bool ends_every_round(const llvm::BasicBlock& block, const llvm::Loop& loop) const {
        llvm::SmallVector<llvm::BasicBlock*> latches;
        loop.getLoopLatches(latches);
        return llvm::all_of(
            latches, [&](const llvm::BasicBlock* latch) { return dominators_.dominates(&block, latch); });
    }

    llvm::DominatorTree dominators_;
    llvm::LoopInfo loops_;
    Divergence divergence_;
    std::vector<llvm::BasicBlock*> order_;
};

}  // namespace

Result<void> hold_loops(llvm::Module& module, PassState&) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr) return {};
    Rounds rounds(*entry);
    const std::vector<llvm::Loop*> loops = rounds.loops_to_hold();
    if (loops.empty()) return {};
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
    auto* hold = llvm::cast<llvm::Function>(module.getOrInsertFunction("air.ingot.hold", type).getCallee());
    hold->addFnAttr(llvm::Attribute::Convergent);
    hold->addFnAttr(llvm::Attribute::NoUnwind);
    for (llvm::Loop* loop : loops)
        llvm::CallInst::Create(hold, "", rounds.latch(*loop)->getTerminator()->getIterator());
    return {};
}

}  // namespace ingot::metal::jit
