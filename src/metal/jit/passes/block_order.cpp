#include "metal/jit/passes/block_order.h"

#include <algorithm>
#include <map>

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit {

// Reverse post-order has each block before those it leads to, but may put blocks behind a loop into the
// middle of it. Sorting by the loops' headers first, from the outermost on, keeps a loop together: the header
// dominates the loop, so whatever the loop leads to has a later place than the header.
std::vector<llvm::BasicBlock*> block_order(llvm::Function& function, const llvm::LoopInfo& loops) {
    std::map<const llvm::BasicBlock*, uint32_t> place;
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
        place[block] = uint32_t(blocks.size());
        blocks.push_back(block);
    }
    std::map<const llvm::BasicBlock*, std::vector<uint32_t>> keys;
    for (llvm::BasicBlock* block : blocks) {
        std::vector<uint32_t>& key = keys[block];
        key.push_back(place[block]);
        for (auto* loop = loops.getLoopFor(block); loop != nullptr; loop = loop->getParentLoop()) {
            key.push_back(place[loop->getHeader()]);
        }
        std::ranges::reverse(key);
    }
    std::ranges::sort(blocks, {}, [&](llvm::BasicBlock* block) -> const auto& { return keys[block]; });
    return blocks;
}

void number_meetings(llvm::Function& function) {
    const llvm::DominatorTree dominators(function);
    const llvm::LoopInfo loops(dominators);
    uint32_t number = 0;
    for (llvm::BasicBlock* block : block_order(function, loops)) {
        for (llvm::Instruction& instruction : *block) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
            const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
            if (callee == nullptr || !callee->hasFnAttribute(kMeetingAttribute)) continue;
            call->setArgOperand(1, llvm::ConstantInt::get(callee->getArg(1)->getType(), ++number));
        }
    }
}

}  // namespace ingot::metal::jit
