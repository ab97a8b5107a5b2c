// Every loop looks at the group's stop flag once a round, so that an endless kernel can be stopped. Comes
// after the optimiser: it would keep loops from being vectorised. Loops with a small constant number of
// rounds go unpolled.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/exec/fibers/lane.h"
#include "metal/jit/analyses.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using fibers::Group;
using fibers::Lane;

constexpr unsigned kFewRounds = 4096;

// Back edges of loops that may take long.
std::vector<llvm::Instruction*> long_back_edges(llvm::Function& function) {
    Analyses analyses;
    llvm::LoopInfo& loops = analyses.functions.getResult<llvm::LoopAnalysis>(function);
    llvm::ScalarEvolution& evolution = analyses.functions.getResult<llvm::ScalarEvolutionAnalysis>(function);
    std::vector<llvm::Instruction*> edges;
    for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
        const unsigned rounds = evolution.getSmallConstantMaxTripCount(loop);
        if (rounds != 0 && rounds <= kFewRounds) continue;
        llvm::SmallVector<llvm::BasicBlock*> latches;
        loop->getLoopLatches(latches);
        for (llvm::BasicBlock* latch : latches) edges.push_back(latch->getTerminator());
    }
    return edges;
}

// The lane is its first argument.
void poll_loops_of(llvm::Module& module, llvm::Function& function) {
    const std::vector<llvm::Instruction*> edges = long_back_edges(function);
    if (edges.empty()) return;
    llvm::Value* lane = function.getArg(0);
    llvm::IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
    const auto pointer_field = [&](llvm::Value* record, size_t offset) {
        return b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), record, offset));
    };
    llvm::Value* group = pointer_field(lane, offsetof(Lane, group));
    llvm::Value* flag = pointer_field(group, offsetof(Group, stop));
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    const llvm::FunctionCallee stop = module.getOrInsertFunction("ingot_stop", type);
    llvm::MDNode* rarely = llvm::MDBuilder(module.getContext()).createBranchWeights(1, 1 << 20);
    for (llvm::Instruction* edge : edges) {
        b.SetInsertPoint(edge);
        llvm::Value* raised = b.CreateICmpNE(b.CreateLoad(b.getInt32Ty(), flag, true), b.getInt32(0));
        llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(raised, edge, false, rarely);
        b.SetInsertPoint(then);
        b.CreateCall(stop, {lane});
    }
}

}  // namespace

Result<void> poll_loops(llvm::Module& module, PassState&) {
    const llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr || entry->arg_size() != 1) return {};
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) poll_loops_of(module, function);
    }
    return {};
}

}  // namespace ingot::metal::jit
