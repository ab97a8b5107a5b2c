#include "metal/jit/lanes/regions.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit::lanes {

Regions::Regions(llvm::Function& function) : function_(function), dominators_(function), loops_(dominators_) {
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
        position_[block] = blocks_.size();
        blocks_.push_back(block);
    }
    levels_[nullptr].loop = nullptr;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) levels_[loop].loop = loop;
    for (auto& [loop, level] : levels_) add_nodes(level);
    for (auto& [loop, level] : levels_) add_edges(level);
}

void Regions::add_nodes(Level& level) {
    for (llvm::BasicBlock* block : blocks_) {
        llvm::Loop* inner = loops_.getLoopFor(block);
        const bool direct = inner == level.loop;
        const bool inner_header =
            inner != nullptr && inner->getHeader() == block && inner->getParentLoop() == level.loop;
        if (!direct && !inner_header) continue;
        level.index[block] = int(level.nodes.size());
        level.nodes.push_back(
            {.block = block, .loop = direct ? nullptr : inner, .successors = {}, .region = {}});
    }
}

void Regions::add_edges(Level& level) {
    llvm::Loop* loop = level.loop;
    for (llvm::BasicBlock* block : blocks_) {
        if (loop != nullptr && !loop->contains(block)) continue;
        const int from = node_of(block, loop);
        Node& node = level.nodes[size_t(from)];
        for (llvm::BasicBlock* successor : llvm::successors(block)) {
            if (loop != nullptr && !loop->contains(successor)) {
                node.exits = true;
                continue;
            }
            if (loop != nullptr && successor == loop->getHeader()) continue;
            const int to = node_of(successor, loop);
            if (from != to && !llvm::is_contained(node.successors, to)) node.successors.push_back(to);
        }
    }
}

int Regions::node_of(const llvm::BasicBlock* block, llvm::Loop* loop) {
    llvm::Loop* inner = loops_.getLoopFor(block);
    Level& level = levels_.at(loop);
    if (inner == loop) return level.index.lookup(block);
    while (inner != nullptr && inner->getParentLoop() != loop) inner = inner->getParentLoop();
    return inner != nullptr ? level.index.lookup(inner->getHeader()) : -1;
}

bool Regions::is_masked(const llvm::BasicBlock* block) {
    for (llvm::Loop* loop = loop_of(block);; loop = loop->getParentLoop()) {
        Level& l = level(loop);
        if (l.divergent || l.nodes[size_t(node_of(block, loop))].linear) return true;
        if (loop == nullptr) return false;
    }
}

Result<void> Regions::check() {
    const std::string name = function_.getName().str();
    for (llvm::BasicBlock* block : blocks_) {
        const llvm::Instruction* end = block->getTerminator();
        if (!llvm::isa<llvm::BranchInst>(end) && !llvm::isa<llvm::ReturnInst>(end)) {
            return fail(ErrorKind::kUnsupported, "a block of '{}' ends in '{}'", name, end->getOpcodeName());
        }
        for (llvm::BasicBlock* successor : llvm::successors(block)) {
            if (position_[successor] > position_[block]) continue;
            const llvm::Loop* loop = loops_.getLoopFor(successor);
            if (loop == nullptr || loop->getHeader() != successor || !loop->contains(block)) {
                return fail(ErrorKind::kUnsupported, "'{}' has irreducible control flow", name);
            }
        }
    }
    for (const llvm::Loop* loop : loops_.getLoopsInPreorder()) {
        if (loop->getLoopLatch() == nullptr || loop->getLoopPreheader() == nullptr ||
            !loop->hasDedicatedExits()) {
            return fail(ErrorKind::kUnsupported, "a loop of '{}' has no simple form", name);
        }
    }
    return {};
}

}  // namespace ingot::metal::jit::lanes
