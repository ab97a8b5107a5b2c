#include "metal/jit/context_builder.h"

#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit {

using fibers::Group;
using fibers::Lane;

// The place to write to mustn't be a context call, which goes away: an anchor marks it.
ContextBuilder::ContextBuilder(llvm::Function& entry, llvm::Value* lane)
    : anchor_(new llvm::FreezeInst(lane, "", &*entry.getEntryBlock().getFirstInsertionPt())),
      b_(anchor_),
      lane_(lane) {}

ContextBuilder::~ContextBuilder() {
    anchor_->eraseFromParent();
}

llvm::Value* ContextBuilder::lane_u32(size_t offset) {
    return load(b_.getInt32Ty(), lane_, offset);
}

llvm::Value* ContextBuilder::group_u32(size_t offset) {
    return load(b_.getInt32Ty(), group(), offset);
}

llvm::Value* ContextBuilder::group_u64(size_t offset) {
    return load(b_.getInt64Ty(), group(), offset);
}

llvm::Value* ContextBuilder::group_pointer(size_t offset) {
    return load(b_.getPtrTy(), group(), offset);
}

llvm::Value* ContextBuilder::slot(size_t table_offset, llvm::Value* index) {
    llvm::Value* table = group_pointer(table_offset);
    return invariant(b_.CreateLoad(b_.getPtrTy(), b_.CreateGEP(b_.getPtrTy(), table, index)));
}

llvm::Value* ContextBuilder::load(llvm::Type* type, llvm::Value* record, size_t offset) {
    return invariant(b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), record, offset)));
}

// Nothing that a kernel reads here changes while it runs.
llvm::Value* ContextBuilder::invariant(llvm::LoadInst* load) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
    return load;
}

// Of a threadgroup whose size stands at `offset`.
llvm::Value* ContextBuilder::quadgroups_of(size_t offset) {
    llvm::Value* threads = group_u32(offset);
    for (size_t c = 1; c < 3; ++c) threads = b_.CreateMul(threads, group_u32(offset + 4 * c));
    return b_.CreateLShr(b_.CreateAdd(threads, b_.getInt32(3)), 2);
}

llvm::Value* ContextBuilder::index(ArgumentKind kind, uint32_t component) {
    const size_t c = size_t{4} * component;
    switch (kind) {
        case ArgumentKind::kThreadPositionInGrid:
            return lane_u32(offsetof(Lane, grid_position) + c);
        case ArgumentKind::kThreadPositionInThreadgroup:
            return lane_u32(offsetof(Lane, position) + c);
        case ArgumentKind::kThreadIndexInThreadgroup:
            return lane_u32(offsetof(Lane, thread));
        case ArgumentKind::kThreadIndexInSimdgroup:
            return lane_u32(offsetof(Lane, lane));
        case ArgumentKind::kSimdgroupIndexInThreadgroup:
            return lane_u32(offsetof(Lane, simdgroup_index));
        case ArgumentKind::kThreadIndexInQuadgroup:
            return b_.CreateAnd(lane_u32(offsetof(Lane, lane)), 3);
        case ArgumentKind::kQuadgroupIndexInThreadgroup:
            return b_.CreateLShr(lane_u32(offsetof(Lane, thread)), 2);
        case ArgumentKind::kThreadsPerGrid:
            return group_u32(offsetof(Group, grid_threads) + c);
        case ArgumentKind::kThreadgroupPositionInGrid:
            return group_u32(offsetof(Group, group_position) + c);
        case ArgumentKind::kThreadgroupsPerGrid:
            return group_u32(offsetof(Group, num_groups) + c);
        case ArgumentKind::kThreadsPerThreadgroup:
            return group_u32(offsetof(Group, group_threads) + c);
        case ArgumentKind::kDispatchThreadsPerThreadgroup:
            return group_u32(offsetof(Group, dispatch_group_threads) + c);
        case ArgumentKind::kSimdgroupsPerThreadgroup:
            return group_u32(offsetof(Group, num_simdgroups));
        case ArgumentKind::kDispatchSimdgroupsPerThreadgroup:
            return group_u32(offsetof(Group, dispatch_simdgroups));
        case ArgumentKind::kQuadgroupsPerThreadgroup:
            return quadgroups_of(offsetof(Group, group_threads));
        case ArgumentKind::kDispatchQuadgroupsPerThreadgroup:
            return quadgroups_of(offsetof(Group, dispatch_group_threads));
        case ArgumentKind::kThreadsPerSimdgroup:
            return b_.getInt32(kSimdWidth);
        case ArgumentKind::kBuffer:
        case ArgumentKind::kIndirectBuffer:
        case ArgumentKind::kThreadgroup:
            break;
    }
    return nullptr;
}

llvm::Value* ContextBuilder::value(llvm::StringRef name, const llvm::CallInst& call) {
    if (name == "ingot.lane") return lane_;
    if (name == "ingot.matrix_element") return lane_u32(offsetof(Lane, matrix_element));
    if (name == "ingot.stacks_begin") return group_u64(offsetof(Group, stacks_begin));
    if (name == "ingot.stacks_bytes") return group_u64(offsetof(Group, stacks_bytes));
    if (name == "ingot.block_counts") return group_pointer(offsetof(Group, block_counts));
    if (name == "ingot.arena") {
        return b_.CreateAddrSpaceCast(group_pointer(offsetof(Group, arena)), call.getType());
    }
    if (name == "ingot.buffer") return slot(offsetof(Group, buffers), call.getArgOperand(0));
    if (name == "ingot.threadgroup") {
        return b_.CreateAddrSpaceCast(slot(offsetof(Group, threadgroup_buffers), call.getArgOperand(0)),
                                      call.getType());
    }
    if (!name.consume_front("ingot.index.")) return nullptr;
    const auto [kind_name, component] = name.rsplit('.');
    const auto kind = index_kind_from_name({kind_name.data(), kind_name.size()});
    uint32_t number = 0;
    if (!kind || component.getAsInteger(10, number) || number > 2) return nullptr;
    return index(*kind, number);
}

}  // namespace ingot::metal::jit
