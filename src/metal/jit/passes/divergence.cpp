#include "metal/jit/passes/divergence.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace ingot::metal::jit {
namespace {

// Index arguments that are the same for all lanes of a simdgroup.
constexpr llvm::StringRef kUniformIndices[] = {"threads_per_grid",
                                               "threadgroup_position_in_grid",
                                               "threadgroups_per_grid",
                                               "threads_per_threadgroup",
                                               "dispatch_threads_per_threadgroup",
                                               "threads_per_simdgroup",
                                               "simdgroup_index_in_threadgroup",
                                               "simdgroups_per_threadgroup",
                                               "dispatch_simdgroups_per_threadgroup",
                                               "quadgroups_per_threadgroup",
                                               "dispatch_quadgroups_per_threadgroup"};

// Simdgroup functions that give every lane the same.
constexpr llvm::StringRef kUniformFunctions[] = {
    "air.simd_sum", "air.simd_product", "air.simd_min", "air.simd_max",    "air.simd_and",      "air.simd_or",
    "air.simd_xor", "air.simd_all",     "air.simd_any", "air.simd_ballot", "air.simd_broadcast"};

bool is_divergent_source(const llvm::CallInst& call) {
    const llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr) return true;
    llvm::StringRef name = callee->getName();
    if (name.consume_front("ingot.index.")) {
        return llvm::none_of(kUniformIndices, [&](llvm::StringRef kind) { return name.starts_with(kind); });
    }
    return name == "ingot.matrix_element" || name.starts_with("air.simd_") || name.starts_with("air.quad_") ||
           name.starts_with("air.get_thread_index") || name.starts_with("__tensorops");
}

bool is_uniform_function(const llvm::CallInst& call) {
    const llvm::Function* callee = call.getCalledFunction();
    return callee != nullptr && llvm::any_of(kUniformFunctions, [&](llvm::StringRef prefix) {
               return callee->getName().starts_with(prefix);
           });
}

}  // namespace

Divergence::Divergence(llvm::Function& function) : function_(function), post_dominators_(function) {
    while (step()) {
    }
}

const llvm::BasicBlock* Divergence::post_dominator(const llvm::BasicBlock* block) const {
    const auto* node = post_dominators_.getNode(block);
    const auto* parent = node != nullptr ? node->getIDom() : nullptr;
    return parent != nullptr ? parent->getBlock() : nullptr;
}

std::set<const llvm::BasicBlock*> Divergence::region(const llvm::BasicBlock* block) const {
    const llvm::BasicBlock* end = post_dominator(block);
    std::set<const llvm::BasicBlock*> blocks;
    std::vector<const llvm::BasicBlock*> open{block};
    while (!open.empty()) {
        const llvm::BasicBlock* current = open.back();
        open.pop_back();
        for (const llvm::BasicBlock* next : llvm::successors(current)) {
            if (next != end && blocks.insert(next).second) open.push_back(next);
        }
    }
    return blocks;
}

bool Divergence::computes_divergent(const llvm::Instruction& instruction) const {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
        if (is_uniform_function(*call)) return is_partial(call->getParent());
        if (is_divergent_source(*call)) return true;
    }
    if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst, llvm::AllocaInst>(instruction)) return true;
    // Private memory may hold anything.
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load != nullptr && load->getPointerAddressSpace() == 0) return true;
    return llvm::any_of(instruction.operands(),
                        [&](const llvm::Use& use) { return is_divergent(use.get()); });
}

// After a divergent branch: its region isn't run by all lanes, values that meet behind it come from different
// paths, and what a loop that lanes leave at different times computed differs.
bool Divergence::spread_from(const llvm::BasicBlock& block) {
    bool changed = false;
    auto joins = region(&block);
    for (const llvm::BasicBlock* inside : joins) changed |= partial_.insert(inside).second;
    const bool loops = joins.contains(&block);
    for (const llvm::BasicBlock* inside : joins) {
        for (const llvm::Instruction& instruction : *inside) {
            const bool leaves = loops && llvm::any_of(instruction.users(), [&](const llvm::User* user) {
                                    const auto* at = llvm::dyn_cast<llvm::Instruction>(user);
                                    return at != nullptr && !joins.contains(at->getParent());
                                });
            if (llvm::isa<llvm::PHINode>(instruction) || leaves) changed |= mark(&instruction);
        }
    }
    if (const llvm::BasicBlock* end = post_dominator(&block)) {
        for (const llvm::PHINode& phi : end->phis()) changed |= mark(&phi);
    }
    return changed;
}

bool Divergence::step() {
    bool changed = false;
    for (const llvm::BasicBlock& block : function_) {
        for (const llvm::Instruction& instruction : block) {
            if (!is_divergent(&instruction) && computes_divergent(instruction)) changed |= mark(&instruction);
        }
        const llvm::Instruction* end = block.getTerminator();
        if (end->getNumSuccessors() > 1 && is_divergent(end->getOperand(0))) changed |= spread_from(block);
    }
    return changed;
}

}  // namespace ingot::metal::jit
