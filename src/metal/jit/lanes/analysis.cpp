// Control: which nodes are linear, where lanes part and meet again.
#include "metal/jit/lanes/analysis.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Module.h>

namespace ingot::metal::jit::lanes {

Analysis::Analysis(llvm::Function& function, Variant variant)
    : variant_(variant), layout_(function.getParent()->getDataLayout()), regions_(function) {}

Result<void> Analysis::run() {
    INGOT_TRY(regions_.check());
    do {
        flow();
    } while (mark());
    link_chains();
    return {};
}

Shape Analysis::shape(const llvm::Value* value) const {
    if (!llvm::isa<llvm::Instruction>(value)) return uniform_shape();
    const auto found = shapes_.find(value);
    return found == shapes_.end() ? Shape{.pattern = nullptr, .first = {}} : found->second;
}

bool Analysis::branches_apart(const llvm::BasicBlock* block) const {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    return branch != nullptr && branch->isConditional() && !shape(branch->getCondition()).is_uniform();
}

void Analysis::flow() {
    for (bool changed = true; changed;) {
        changed = false;
        for (llvm::BasicBlock* block : regions_.blocks()) {
            for (llvm::Instruction& instruction : *block) {
                const Shape before = shape(&instruction);
                if (before.kind == ShapeKind::kVarying) continue;
                const Shape after = join(before, transfer(instruction));
                if (after == before) continue;
                shapes_[&instruction] = after;
                changed = true;
            }
        }
        if (changed) continue;
        // What is left unseen is a cycle of phis with nothing defined behind it: any value will do.
        for (llvm::BasicBlock* block : regions_.blocks()) {
            for (llvm::PHINode& phi : block->phis()) {
                if (changed || shape(&phi).kind != ShapeKind::kNone) continue;
                shapes_[&phi] = uniform_shape();
                changed = true;
            }
        }
    }
}

// Whether an edge from `block` out of `loop` is taken by some lanes only.
bool Analysis::leaves_apart(llvm::BasicBlock* block, llvm::Loop* loop) {
    if (branches_apart(block)) return true;
    for (llvm::Loop* level = regions_.loop_of(block);; level = level->getParentLoop()) {
        Level& l = regions_.level(level);
        if (l.nodes[size_t(regions_.node_of(block, level))].linear) return true;
        if (level == loop) return false;
        if (l.divergent) return true;
    }
}

// Walks from a head in topological order until the ways are one again.
void Analysis::find_region(Level& level, int head) {
    Node& node = level.nodes[size_t(head)];
    std::set<int> pending(node.successors.begin(), node.successors.end());
    bool some_leave = node.exits_divergent;
    node.region.clear();
    node.join = -1;
    while (!pending.empty()) {
        const int next = *pending.begin();
        if (pending.size() == 1 && !some_leave) {
            node.join = next;
            return;
        }
        pending.erase(pending.begin());
        node.region.push_back(next);
        const Node& inside = level.nodes[size_t(next)];
        some_leave |= inside.exits_divergent;
        pending.insert(inside.successors.begin(), inside.successors.end());
    }
}

bool Analysis::mark_head(Level& level, int head) {
    bool grew = false;
    const auto set = [&](bool& flag) {
        grew |= !flag;
        flag = true;
    };
    set(level.nodes[size_t(head)].head);
    find_region(level, head);
    const Node& node = level.nodes[size_t(head)];
    const std::set<int> region(node.region.begin(), node.region.end());
    const auto add_join = [&](int index) {
        const Node& inside = level.nodes[size_t(index)];
        if (inside.loop == nullptr) grew |= joins_.insert(inside.block).second;
    };
    for (const int index : region) {
        set(level.nodes[size_t(index)].linear);
        add_join(index);
        // Somebody who jumps in from aside must walk the chain too: it starts further up.
        for (int from = 0; from < int(level.nodes.size()); ++from) {
            const Node& other = level.nodes[size_t(from)];
            if (from == head || region.contains(from) || !llvm::is_contained(other.successors, index))
                continue;
            const llvm::BasicBlock* common =
                regions_.dominators().findNearestCommonDominator(node.block, other.block);
            const int above = regions_.node_of(common, level.loop);
            if (above >= 0) set(level.nodes[size_t(above)].forced);
        }
    }
    if (node.join >= 0) add_join(node.join);
    return grew;
}

bool Analysis::mark_level(Level& level) {
    bool grew = false;
    const auto set = [&](bool& flag) {
        grew |= !flag;
        flag = true;
    };
    if (level.loop != nullptr) {
        for (llvm::BasicBlock* block : level.loop->blocks()) {
            for (llvm::BasicBlock* successor : llvm::successors(block)) {
                if (!level.loop->contains(successor) && leaves_apart(block, level.loop)) set(level.divergent);
            }
        }
    }
    for (Node& node : level.nodes) {
        if (node.exits && level.divergent) set(node.exits_divergent);
    }
    for (int i = 0; i < int(level.nodes.size()); ++i) {
        const Node& node = level.nodes[size_t(i)];
        const bool parts =
            node.loop == nullptr ? branches_apart(node.block) : regions_.level(node.loop).divergent;
        if (node.forced || node.exits_divergent || (parts && node.successors.size() > 1)) {
            grew |= mark_head(level, i);
        }
    }
    return grew;
}

bool Analysis::mark() {
    bool any = false;
    for (bool grew = true; grew; any |= grew) {
        grew = false;
        for (auto& [loop, level] : regions_.levels()) grew |= mark_level(level);
    }
    return any;
}

void Analysis::link_chains() {
    for (auto& [loop, level] : regions_.levels()) {
        for (int head = 0; head < int(level.nodes.size()); ++head) {
            if (!level.nodes[size_t(head)].head || level.nodes[size_t(head)].linear) continue;
            find_region(level, head);
            int last = head;
            for (const int index : level.nodes[size_t(head)].region) {
                level.nodes[size_t(last)].next = index;
                last = index;
            }
            level.nodes[size_t(last)].next = level.nodes[size_t(head)].join;
        }
    }
}

}  // namespace ingot::metal::jit::lanes
