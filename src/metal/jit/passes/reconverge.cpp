// On a GPU the lanes of a simdgroup run in lockstep, and shipped kernels count on it: one lane writes shared
// or device memory under `if (lane == 0)` and the others read it right after, without a barrier. Fibers would
// let lanes run ahead. So lanes meet before and after a divergent branch whose region writes memory that is
// read later. Only branches that all lanes reach, and regions without meetings of their own: lanes must not
// wait for each other at different places. Strict mode leaves this out, and the race shows.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/passes/divergence.h"
#include "metal/jit/passes/memory_objects.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

using Blocks = std::set<const llvm::BasicBlock*>;

bool is_shared(unsigned space) {
    return space == kDeviceSpace || space == kThreadgroupSpace;
}

bool writes_shared(const llvm::Instruction& instruction) {
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        return is_shared(store->getPointerAddressSpace());
    }
    if (const auto* memory = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction)) {
        return is_shared(memory->getDestAddressSpace());
    }
    return false;
}

bool reads_shared(const llvm::Instruction& instruction) {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        return is_shared(load->getPointerAddressSpace());
    }
    const auto* copy = llvm::dyn_cast<llvm::AnyMemTransferInst>(&instruction);
    return copy != nullptr && is_shared(copy->getSourceAddressSpace());
}

bool is_meeting(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return call != nullptr && call->isConvergent();
}

bool is_threadgroup_barrier(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
    return callee != nullptr && callee->getName() == "air.wg.barrier";
}

// Whether a lane may read shared memory after `from` starts, before every lane passed a threadgroup barrier.
bool read_follows(const llvm::BasicBlock* from) {
    Blocks seen{from};
    std::vector<const llvm::BasicBlock*> open{from};
    while (!open.empty()) {
        const llvm::BasicBlock* block = open.back();
        open.pop_back();
        bool ordered = false;
        for (const llvm::Instruction& instruction : *block) {
            if (reads_shared(instruction)) return true;
            ordered = is_threadgroup_barrier(instruction);
            if (ordered) break;
        }
        if (ordered) continue;
        for (const llvm::BasicBlock* next : llvm::successors(block)) {
            if (seen.insert(next).second) open.push_back(next);
        }
    }
    return false;
}

bool needs_meeting(const llvm::BasicBlock& block, const Divergence& divergence) {
    const llvm::Instruction* branch = block.getTerminator();
    if (branch->getNumSuccessors() < 2 || !divergence.is_divergent(branch->getOperand(0))) return false;
    const llvm::BasicBlock* end = divergence.post_dominator(&block);
    if (end == nullptr || divergence.is_partial(&block) || divergence.is_partial(end)) return false;
    bool writes = false;
    for (const llvm::BasicBlock* inside : divergence.region(&block)) {
        for (const llvm::Instruction& instruction : *inside) {
            if (is_meeting(instruction)) return false;
            writes |= writes_shared(instruction);
        }
    }
    return writes && read_follows(end);
}

}  // namespace

Result<void> reconverge(llvm::Module& module, PassState& state) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (!state.options.reconverge || entry == nullptr) return {};
    const Divergence divergence(*entry);
    std::vector<llvm::Instruction*> places;
    for (llvm::BasicBlock& block : *entry) {
        if (!needs_meeting(block, divergence)) continue;
        places.push_back(block.getTerminator());
        auto* end = const_cast<llvm::BasicBlock*>(divergence.post_dominator(&block));
        places.push_back(&*end->getFirstInsertionPt());
    }
    if (places.empty()) return {};
    llvm::IRBuilder<> b(module.getContext());
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getInt32Ty(), b.getInt32Ty()}, false);
    auto* barrier =
        llvm::cast<llvm::Function>(module.getOrInsertFunction("air.simdgroup.barrier", type).getCallee());
    barrier->addFnAttr(llvm::Attribute::Convergent);
    barrier->addFnAttr(llvm::Attribute::NoUnwind);
    constexpr uint32_t kDeviceAndThreadgroup = 3, kSimdgroupScope = 4;
    for (llvm::Instruction* place : places) {
        b.SetInsertPoint(place);
        b.CreateCall(barrier, {b.getInt32(kDeviceAndThreadgroup), b.getInt32(kSimdgroupScope)})
            ->setMetadata(kAddedMeeting, llvm::MDNode::get(module.getContext(), {}));
    }
    return {};
}

}  // namespace ingot::metal::jit
