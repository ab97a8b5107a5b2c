// Which object of a kernel's memory a pointer leads into, as far as the code tells.
#pragma once

#include <map>

#include <llvm/IR/Instructions.h>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {

// On the call of ingot.arena() that a threadgroup variable's address is made of: its index in
// PassState::threadgroup_variables.
constexpr const char* kThreadgroupVariable = "ingot.variable";
// On the accesses that an 8x8 matrix is loaded or stored with.
constexpr const char* kMatrixAccess = "ingot.matrix";
// On meetings that the kernel doesn't ask for.
constexpr const char* kAddedMeeting = "ingot.added";

class ObjectFinder {
  public:
    ObjectFinder(const PassState& state, const llvm::DataLayout& layout) : state_(state), layout_(layout) {}

    struct Found {
        MemoryObject object;
        llvm::Value* base = nullptr;  // where it begins, if the code says so alone
    };
    // Kind kNone for private memory whose variable isn't known.
    Found find(llvm::Value* pointer);

  private:
    Found describe(llvm::Value* origin, unsigned space) const;

    const PassState& state_;
    const llvm::DataLayout& layout_;
    std::map<llvm::Value*, Found> known_;
};

}  // namespace ingot::metal::jit
