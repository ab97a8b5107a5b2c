// Computes the shape of every value and which blocks run under a lane mask, both from each other until
// nothing changes: a branch on a varying condition makes what follows it linear, and phis of joins vary. The
// input is one function whose calls of other lanes (air.simd_*, barriers, ingot.*) are still calls.
#pragma once

#include <set>

#include <llvm/IR/Instructions.h>

#include "metal/exec/kernel.h"
#include "metal/jit/lanes/calls.h"
#include "metal/jit/lanes/regions.h"
#include "metal/jit/lanes/shape.h"

namespace ingot::metal::jit::lanes {

using Variant = LaneVariant;

class Analysis {
  public:
    Analysis(llvm::Function& function, Variant variant);

    Result<void> run();

    Regions& regions() { return regions_; }
    Shape shape(const llvm::Value* value) const;
    // Whether a branch at the end of `block` sends lanes different ways.
    bool branches_apart(const llvm::BasicBlock* block) const;

  private:
    void flow();  // shapes, to a fixed point
    bool mark();  // control; true when something grew
    void link_chains();
    Shape transfer(llvm::Instruction& instruction);
    Shape of_phi(const llvm::PHINode& phi);
    Shape of_call(const llvm::CallInst& call);
    Shape fold(llvm::Instruction& instruction);
    Shape affine(llvm::Instruction& instruction);
    Shape low_bits(const llvm::Instruction& instruction, int64_t (*operation)(int64_t, int64_t),
                   int64_t constant, int zeros);
    Shape extended(const llvm::Instruction& instruction);
    bool never_wraps(const llvm::Value* value, bool is_signed, unsigned depth = 0) const;
    unsigned trailing_zeros(const llvm::Value* value) const;
    bool leaves_apart(llvm::BasicBlock* block, llvm::Loop* loop);
    bool mark_level(Level& level);
    bool mark_head(Level& level, int head);
    void find_region(Level& level, int head);

    Variant variant_;
    const llvm::DataLayout& layout_;
    Regions regions_;
    ShapeTable table_;
    llvm::DenseMap<const llvm::Value*, Shape> shapes_;
    std::set<const llvm::BasicBlock*> joins_;  // lanes arrive from different blocks
};

}  // namespace ingot::metal::jit::lanes
