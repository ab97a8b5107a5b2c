// Writes the loads that replace context calls (pass.h), from the record of the running thread, or of a
// simdgroup's first lane (exec/fibers/lane.h). All are in the entry's first block.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "metal/air/kernel_info.h"
#include "metal/exec/fibers/lane.h"

namespace ingot::metal::jit {

class ContextBuilder {
  public:
    ContextBuilder(llvm::Function& entry, llvm::Value* lane);
    // What was written stays; the place it was written to is given up.
    ~ContextBuilder();
    ContextBuilder(const ContextBuilder&) = delete;
    ContextBuilder& operator=(const ContextBuilder&) = delete;

    // The value of context function `name` for `call`; null if there is no such function.
    llvm::Value* value(llvm::StringRef name, const llvm::CallInst& call);

    llvm::Value* lane() const { return lane_; }
    llvm::Value* active_lanes() { return lane_u32(offsetof(fibers::Lane, active_lanes)); }
    llvm::Value* lane_u32(size_t offset);
    llvm::Value* group_u32(size_t offset);
    llvm::Value* group_u64(size_t offset);
    llvm::Value* index(ArgumentKind kind, uint32_t component);
    llvm::IRBuilder<>& b() { return b_; }

  private:
    llvm::Value* group_pointer(size_t offset);
    llvm::Value* quadgroups_of(size_t offset);
    llvm::Value* slot(size_t table_offset, llvm::Value* index);
    llvm::Value* group() { return load(b_.getPtrTy(), lane_, offsetof(fibers::Lane, group)); }
    llvm::Value* load(llvm::Type* type, llvm::Value* record, size_t offset);
    llvm::Value* invariant(llvm::LoadInst* load);

    llvm::Instruction* anchor_;
    llvm::IRBuilder<> b_;
    llvm::Value* lane_;
};

}  // namespace ingot::metal::jit
