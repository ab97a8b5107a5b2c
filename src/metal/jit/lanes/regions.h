// The control flow graph of a function as the vector executor walks it: a level for the function and one for
// each loop, whose nodes are the blocks directly inside and the inner loops, in topological order, with the
// edges between them (back edges and exits left out). Analysis marks which nodes run under a lane mask.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "base/result.h"

namespace ingot::metal::jit::lanes {

struct Node {
    llvm::BasicBlock* block = nullptr;  // the loop's header if it is a loop
    llvm::Loop* loop = nullptr;         // null for a block
    std::vector<int> successors;
    bool exits = false;            // an edge leaves the level's loop
    bool exits_divergent = false;  // ... for some lanes only
    bool linear = false;           // runs under a mask, one node after the other
    bool head = false;             // lanes part here
    bool forced = false;           // a head because somebody jumps into a linear region from aside
    int next = -1;                 // in the chain of a linear region; -1: the level's end
    int join = -1;                 // where a head's lanes are together again; -1: after the level
    std::vector<int> region;       // a head's linear nodes, in topological order
    bool chained() const { return linear || head; }
};

struct Level {
    llvm::Loop* loop = nullptr;
    std::vector<Node> nodes;
    llvm::DenseMap<llvm::BasicBlock*, int> index;
    bool divergent = false;  // lanes leave the loop in different rounds
};

class Regions {
  public:
    explicit Regions(llvm::Function& function);

    // Error kUnsupported for control flow that isn't nested loops and branches.
    Result<void> check();

    const std::vector<llvm::BasicBlock*>& blocks() const { return blocks_; }  // reverse post-order
    llvm::Loop* loop_of(const llvm::BasicBlock* block) const { return loops_.getLoopFor(block); }
    const llvm::LoopInfo& loops() const { return loops_; }
    const llvm::DominatorTree& dominators() const { return dominators_; }
    Level& level(llvm::Loop* loop) { return levels_.at(loop); }
    std::map<llvm::Loop*, Level>& levels() { return levels_; }
    // The node of `loop`'s level that holds `block`; -1 if the block lies outside.
    int node_of(const llvm::BasicBlock* block, llvm::Loop* loop);
    Node& node(const llvm::BasicBlock* block) {
        Level& l = level(loop_of(block));
        return l.nodes[size_t(l.index.lookup(block))];
    }
    // Whether `block` runs under a mask: in a linear node or a divergent loop at any level.
    bool is_masked(const llvm::BasicBlock* block);

  private:
    void add_nodes(Level& level);
    void add_edges(Level& level);

    llvm::Function& function_;
    llvm::DominatorTree dominators_;
    llvm::LoopInfo loops_;
    std::vector<llvm::BasicBlock*> blocks_;
    llvm::DenseMap<const llvm::BasicBlock*, size_t> position_;
    std::map<llvm::Loop*, Level> levels_;
};

}  // namespace ingot::metal::jit::lanes
