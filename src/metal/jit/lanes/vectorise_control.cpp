// Control: uniform branches stay branches. A region that lanes enter apart is walked node by node, each
// guarded by "is any lane in its mask"; edges add lanes to masks and blend phis. A loop that lanes leave in
// different rounds runs while a lane stays. Where lanes are together again the head's mask comes back. Masks
// and values cross blocks through stack slots, which SROA turns into SSA form.
#include <llvm/IR/CFG.h>

#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {
namespace {

llvm::Type* slot_type(llvm::Value* slot) {
    return llvm::cast<llvm::AllocaInst>(slot)->getAllocatedType();
}

}  // namespace

void Vectoriser::create_blocks() {
    for (llvm::BasicBlock* block : regions_.blocks()) {
        blocks_[block] = lanes_.new_block("b");
        mask_slots_[block] = lanes_.slot(lanes_.wide(b().getInt1Ty()));
        llvm::Loop* loop = regions_.loop_of(block);
        if (regions_.node(block).linear && !runs_unguarded(*block))
            guards_[block] = lanes_.new_block("guard");
        if (loop != nullptr && loop->getHeader() == block) {
            Level& outer = regions_.level(loop->getParentLoop());
            if (outer.nodes[size_t(outer.index.lookup(block))].linear)
                guards_[block] = lanes_.new_block("guard");
            loop_ends_[loop] = lanes_.new_block("loop_end");
            entry_masks_[loop] = lanes_.slot(lanes_.wide(b().getInt1Ty()));
        }
        for (llvm::Instruction& instruction : *block) {
            if (residents_.contains(&instruction)) continue;
            if (llvm::isa<llvm::PHINode>(instruction)) phi_slots_[&instruction] = make_slots(instruction);
            if (instruction.getType()->isVoidTy() || llvm::isa<llvm::AllocaInst>(instruction)) continue;
            const bool leaves_block = llvm::any_of(instruction.users(), [&](llvm::User* user) {
                auto* other = llvm::cast<llvm::Instruction>(user);
                return other->getParent() != block || llvm::isa<llvm::PHINode>(other);
            });
            // The exact form of an affine value is made where it is needed, from its operands.
            const bool feeds_affine =
                llvm::any_of(instruction.users(), [&](llvm::User* user) { return shape(user).is_affine(); });
            if (leaves_block || feeds_affine) slots_[&instruction] = make_slots(instruction);
        }
    }
}

// Whether a linear node may run with no lane in its mask, and is so short that asking would cost more: all it
// does goes by lanes. What a scalar needs may be undefined then, so nothing may branch on one (an assumed
// shape's test), fault or write by one.
bool Vectoriser::runs_unguarded(const llvm::BasicBlock& block) const {
    constexpr unsigned kShort = 12, kFewAccesses = 2;
    unsigned count = 0, accesses = 0;
    for (const llvm::Instruction& instruction : block) {
        if (llvm::isa<llvm::PHINode>(instruction)) continue;
        if (++count > kShort) return false;
        if (instruction.isTerminator() || instruction.isCast()) continue;
        if (const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction)) {
            const Shape s = shape(pointer);
            if (instruction.isAtomic() || instruction.isVolatile() || s.is_uniform() || s.assumed)
                return false;
            if (++accesses > kFewAccesses) return false;
            continue;
        }
        const bool divides = instruction.isIntDivRem() && shape(&instruction).is_scalar();
        if (llvm::isa<llvm::CallBase, llvm::AllocaInst>(instruction) || instruction.mayReadOrWriteMemory() ||
            divides) {
            return false;
        }
    }
    return true;
}

// Other linear nodes run only if a lane is in their mask, so that scalar code in them is safe.
void Vectoriser::create_guards() {
    auto* mask_type = lanes_.wide(b().getInt1Ty());
    for (auto& [loop, level] : regions_.levels()) {
        for (int i = 0; i < int(level.nodes.size()); ++i) {
            Node& node = level.nodes[size_t(i)];
            if (!node.linear || !guards_.contains(node.block)) continue;
            b().SetInsertPoint(guards_[node.block]);
            llvm::Value* mask = b().CreateLoad(mask_type, mask_slots_[node.block]);
            b().CreateCondBr(lanes_.any(mask), blocks_[node.block], after_node(level, i));
        }
    }
}

// Where a divergent loop goes on when its last lane has left.
void Vectoriser::create_loop_ends() {
    auto* mask_type = lanes_.wide(b().getInt1Ty());
    for (auto& [loop, level] : regions_.levels()) {
        if (loop == nullptr) continue;
        b().SetInsertPoint(loop_ends_[loop]);
        if (!level.divergent) {
            b().CreateUnreachable();
            continue;
        }
        Level& outer = regions_.level(loop->getParentLoop());
        const int index = outer.index.lookup(loop->getHeader());
        Node& node = outer.nodes[size_t(index)];
        const auto restore = [&](llvm::BasicBlock* block) {
            b().CreateStore(b().CreateLoad(mask_type, entry_masks_[loop]), mask_slots_[block]);
        };
        if (llvm::BasicBlock* exit = single_exit(loop)) restore(exit);
        if (node.head && !node.linear && node.join >= 0) restore(outer.nodes[size_t(node.join)].block);
        if (node.chained()) {
            b().CreateBr(after_node(outer, index));
        } else {
            b().CreateBr(start_of(outer, node.successors[0]));
        }
    }
}

llvm::BasicBlock* Vectoriser::start_of(Level& level, int node) {
    Node& n = level.nodes[size_t(node)];
    const bool guarded = n.linear && guards_.contains(n.block);
    return guarded ? guards_[n.block] : blocks_[n.block];
}

llvm::BasicBlock* Vectoriser::after_node(Level& level, int node) {
    Node& n = level.nodes[size_t(node)];
    if (n.next >= 0) return start_of(level, n.next);
    if (level.loop != nullptr) return loop_ends_[level.loop];
    refuse("a function that doesn't end in one block");
    return blocks_[n.block];
}

// The only block that a divergent loop's lanes go to, if it lies just outside.
llvm::BasicBlock* Vectoriser::single_exit(llvm::Loop* loop) {
    if (!regions_.level(loop).divergent) return nullptr;
    llvm::BasicBlock* exit = loop->getUniqueExitBlock();
    return exit != nullptr && regions_.loop_of(exit) == loop->getParentLoop() ? exit : nullptr;
}

llvm::Loop* Vectoriser::entered_loop(llvm::BasicBlock& from, llvm::BasicBlock& to) {
    llvm::Loop* loop = regions_.loop_of(&to);
    return loop != nullptr && loop != regions_.loop_of(&from) && loop->getHeader() == &to &&
                   !loop->contains(&from)
               ? loop
               : nullptr;
}

void Vectoriser::write_phis(llvm::BasicBlock& from, llvm::BasicBlock& to, llvm::Value* mask, bool blend) {
    llvm::SmallVector<std::pair<llvm::PHINode*, Parts>> writes;
    for (llvm::PHINode& phi : to.phis()) {
        llvm::Value* value = phi.getIncomingValueForBlock(&from);
        if (llvm::isa<llvm::UndefValue>(value)) continue;
        // A resident accumulator goes round the loop where it is.
        if (const auto place = residents_.find(&phi);
            place != residents_.end() && residents_.lookup(value) == place->second) {
            continue;
        }
        writes.emplace_back(&phi, shape(&phi).is_scalar() ? Parts{scalar(value)} : vectors(value));
    }
    for (auto& [phi, parts] : writes) {
        if (const auto place = residents_.find(phi); place != residents_.end()) {
            for (uint64_t i = 0; i < parts.size(); ++i)
                b().CreateStore(parts[i], b().CreateConstGEP1_64(parts[i]->getType(), place->second, i));
            continue;
        }
        const Parts& slots = phi_slots_[phi];
        const bool blends = blend && !shape(phi).is_scalar() && !LaneBuilder::is_all_lanes(mask);
        for (size_t i = 0; i < slots.size(); ++i) {
            llvm::Value* value = parts[i];
            if (blends) {
                value = b().CreateSelect(mask, value, b().CreateLoad(slot_type(slots[i]), slots[i]));
            }
            b().CreateStore(value, slots[i]);
        }
    }
}

void Vectoriser::clear_phis(llvm::BasicBlock& block) {
    for (llvm::PHINode& phi : block.phis()) {
        for (llvm::Value* slot : phi_slots_[&phi]) {
            b().CreateStore(llvm::PoisonValue::get(slot_type(slot)), slot);
        }
    }
}

// Lanes are added to the masks of a region one edge at a time: they start empty.
void Vectoriser::clear_region(Level& level, Node& head) {
    for (const int index : head.region) {
        Node& node = level.nodes[size_t(index)];
        b().CreateStore(llvm::Constant::getNullValue(lanes_.wide(b().getInt1Ty())), mask_slots_[node.block]);
        if (node.loop == nullptr) clear_phis(*node.block);
    }
    if (head.join >= 0 && level.nodes[size_t(head.join)].loop == nullptr) {
        clear_phis(*level.nodes[size_t(head.join)].block);
    }
}

// On the edge from the loop's preheader.
void Vectoriser::enter_loop(llvm::Loop& loop, llvm::Value* mask) {
    Level& outer = regions_.level(loop.getParentLoop());
    Node& node = outer.nodes[size_t(outer.index.lookup(loop.getHeader()))];
    const bool divergent = regions_.level(&loop).divergent;
    if (divergent) b().CreateStore(mask, entry_masks_[&loop]);
    if (node.head && !node.linear) clear_region(outer, node);
    if (!divergent || node.chained()) return;
    llvm::SmallVector<llvm::BasicBlock*> exits;
    loop.getUniqueExitBlocks(exits);
    for (llvm::BasicBlock* exit : exits) {
        if (regions_.loop_of(exit) == loop.getParentLoop()) clear_phis(*exit);
    }
}

llvm::BasicBlock* Vectoriser::real_target(llvm::BasicBlock& from, llvm::BasicBlock& to) {
    llvm::Loop* loop = regions_.loop_of(&from);
    if (loop != nullptr && &to == loop->getHeader()) return blocks_[&to];
    if (loop == nullptr || loop->contains(&to))
        return start_of(regions_.level(loop), regions_.node_of(&to, loop));
    for (llvm::Loop* inner = loop;;) {
        llvm::Loop* outer = inner->getParentLoop();
        Level& level = regions_.level(outer);
        const int index = level.index.lookup(inner->getHeader());
        if (level.nodes[size_t(index)].chained()) return after_node(level, index);
        if (outer == nullptr || outer->contains(&to)) return start_of(level, regions_.node_of(&to, outer));
        inner = outer;
    }
}

// All lanes of the mask go one way.
void Vectoriser::end_real(llvm::BasicBlock& block, llvm::ArrayRef<Edge> edges, llvm::Value* condition) {
    auto* mask_type = lanes_.wide(b().getInt1Ty());
    const std::array<llvm::BasicBlock*, 2> ways{lanes_.new_block("edge"),
                                                condition != nullptr ? lanes_.new_block("edge") : nullptr};
    if (condition == nullptr) {
        b().CreateBr(ways[0]);
    } else {
        b().CreateCondBr(condition, ways[0], ways[1]);
    }
    for (size_t i = 0; i < edges.size(); ++i) {
        llvm::BasicBlock& to = *edges[i].to;
        b().SetInsertPoint(ways[i]);
        bool leaves_divergent = false;
        for (llvm::Loop* loop = regions_.loop_of(&block); loop != nullptr && !loop->contains(&to);
             loop = loop->getParentLoop()) {
            leaves_divergent |= regions_.level(loop).divergent;
        }
        write_phis(block, to, edges[i].mask, leaves_divergent);
        if (llvm::Loop* loop = entered_loop(block, to)) enter_loop(*loop, edges[i].mask);
        llvm::Value* mask = edges[i].mask;
        if (leaves_divergent) mask = b().CreateOr(mask, b().CreateLoad(mask_type, mask_slots_[&to]));
        b().CreateStore(mask, mask_slots_[&to]);
        b().CreateBr(real_target(block, to));
    }
}

// Lanes may go both ways: they are noted in the successors' masks, and the chain goes on.
void Vectoriser::end_chained(llvm::BasicBlock& block, llvm::ArrayRef<Edge> edges) {
    auto* mask_type = lanes_.wide(b().getInt1Ty());
    llvm::Loop* loop = regions_.loop_of(&block);
    Level& level = regions_.level(loop);
    const int index = level.index.lookup(&block);
    Node& node = level.nodes[size_t(index)];
    const Edge* back = nullptr;
    for (const Edge& edge : edges) {
        if (loop != nullptr && edge.to == loop->getHeader()) {
            back = &edge;
            continue;
        }
        const bool leaves = loop != nullptr && !loop->contains(edge.to);
        if (llvm::Loop* inner = entered_loop(block, *edge.to)) {
            write_phis(block, *edge.to, edge.mask, false);
            enter_loop(*inner, edge.mask);
            b().CreateStore(edge.mask, mask_slots_[edge.to]);
            continue;
        }
        write_phis(block, *edge.to, edge.mask, true);
        // Where lanes are together again their mask comes back as a whole.
        if (leaves && single_exit(loop) == edge.to) continue;
        if (!leaves && !level.nodes[size_t(regions_.node_of(edge.to, loop))].linear) continue;
        llvm::Value* before = b().CreateLoad(mask_type, mask_slots_[edge.to]);
        b().CreateStore(b().CreateOr(before, edge.mask), mask_slots_[edge.to]);
    }
    if (back != nullptr) {
        write_phis(block, *back->to, back->mask, false);
        b().CreateStore(back->mask, mask_slots_[back->to]);
    }
    if (node.head && !node.linear && node.join >= 0) {
        b().CreateStore(mask_, mask_slots_[level.nodes[size_t(node.join)].block]);
    }
    if (back != nullptr) {
        b().CreateCondBr(lanes_.any(back->mask), blocks_[back->to], loop_ends_[loop]);
    } else {
        b().CreateBr(after_node(level, index));
    }
}

void Vectoriser::end_block(llvm::BasicBlock& block) {
    llvm::Instruction* end = block.getTerminator();
    if (llvm::isa<llvm::ReturnInst>(end)) {
        b().CreateRetVoid();
        return;
    }
    auto& branch = llvm::cast<llvm::BranchInst>(*end);
    llvm::Loop* loop = regions_.loop_of(&block);
    Level& level = regions_.level(loop);
    Node& node = level.nodes[size_t(level.index.lookup(&block))];
    const bool one_way = branch.isUnconditional() || branch.getSuccessor(0) == branch.getSuccessor(1);
    llvm::SmallVector<Edge, 2> edges;
    llvm::Value* condition = nullptr;
    if (one_way) {
        edges.push_back({branch.getSuccessor(0), mask_});
    } else if (!node.chained()) {
        condition = scalar(branch.getCondition());
        edges = {{branch.getSuccessor(0), mask_}, {branch.getSuccessor(1), mask_}};
    } else {
        llvm::Value* yes = vector(branch.getCondition());
        edges = {{branch.getSuccessor(0), b().CreateAnd(mask_, yes)},
                 {branch.getSuccessor(1), b().CreateAnd(mask_, b().CreateNot(yes))}};
    }
    if (node.head && !node.linear) clear_region(level, node);
    if (node.chained()) {
        end_chained(block, edges);
    } else {
        end_real(block, edges, condition);
    }
}

}  // namespace ingot::metal::jit::lanes
