// Writes vector IR of one <32 x T> per value: constants, shuffles, reductions, loops over active lanes. Knows
// nothing about kernels. Vectors of i1 are lane masks; bit l of their 32-bit form is lane l.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include "metal/jit/lanes/shape.h"

namespace ingot::metal::jit::lanes {

using Parts = llvm::SmallVector<llvm::Value*, 4>;

// Half and bfloat, which are computed with as float; alone or in vectors.
inline bool is_short_float(const llvm::Type* type) {
    const llvm::Type* scalar = type->getScalarType();
    return scalar->isHalfTy() || scalar->isBFloatTy();
}

class LaneBuilder {
  public:
    LaneBuilder(llvm::Function& target, llvm::Instruction* end_of_slots);

    llvm::IRBuilder<>& b() { return b_; }
    llvm::Function& target() { return target_; }
    llvm::LLVMContext& context() { return target_.getContext(); }

    llvm::FixedVectorType* wide(llvm::Type* type) { return llvm::FixedVectorType::get(type, kLanes); }
    llvm::Value* splat(llvm::Value* value) { return b_.CreateVectorSplat(kLanes, value); }
    llvm::Value* splat_u32(uint32_t value) { return splat(b_.getInt32(value)); }
    // Constants of an integer type, one a lane.
    llvm::Constant* lanes(llvm::Type* type, llvm::function_ref<int64_t(unsigned)> value);
    llvm::Constant* lane_numbers() {
        return lanes(b_.getInt32Ty(), [](unsigned lane) { return int64_t(lane); });
    }

    llvm::Value* all_lanes() { return llvm::Constant::getAllOnesValue(wide(b_.getInt1Ty())); }
    static bool is_all_lanes(const llvm::Value* mask);
    llvm::Value* bits(llvm::Value* mask) { return b_.CreateBitCast(mask, b_.getInt32Ty()); }
    llvm::Value* any(llvm::Value* mask) { return b_.CreateICmpNE(bits(mask), b_.getInt32(0)); }
    llvm::Value* first_active(llvm::Value* mask);
    // The value of the first active lane (lane 0 if no lane is active).
    llvm::Value* of_first_active(llvm::Value* value, llvm::Value* mask);

    // Memory on the stack for the whole function.
    llvm::AllocaInst* slot(llvm::Type* type);
    // The same until release(), so that what isn't in use at one time shares memory.
    llvm::AllocaInst* scratch(llvm::Type* type);
    void release(llvm::AllocaInst* scratch) { b_.CreateLifetimeEnd(scratch); }

    // The shuffle whose lane l takes element pick(l) of a followed by b.
    llvm::Value* shuffle(llvm::Value* a, llvm::Value* b, llvm::function_ref<int(unsigned)> pick);
    // Lane l gets the value of lane source[l] modulo 32.
    llvm::Value* permute(llvm::Value* value, llvm::Value* source);
    // Halves a vector until one element is left.
    llvm::Value* reduce(llvm::Value* value,
                        llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> combine);
    // k vectors of consecutive elements -> element j of each lane's k, and back.
    llvm::Value* deinterleave(llvm::ArrayRef<llvm::Value*> units, unsigned element);
    Parts interleave(llvm::ArrayRef<llvm::Value*> elements);
    llvm::Value* concatenate(llvm::ArrayRef<llvm::Value*> pieces);

    // Rounds to bfloat to nearest even; LLVM would call a function a lane.
    llvm::Value* to_bfloat(llvm::Value* floats);
    llvm::Value* truncate_float(llvm::Value* value, llvm::Type* to);

    // Runs `body` for each lane of `mask`, in ascending order, with the lane's number and its elements of
    // `operands`; what it returns becomes the lane's elements of the result (other lanes: undefined).
    using LaneBody = llvm::function_ref<Parts(llvm::Value* lane, llvm::ArrayRef<llvm::Value*> elements)>;
    Parts for_each_lane(llvm::Value* mask, llvm::ArrayRef<llvm::Value*> operands,
                        llvm::ArrayRef<llvm::Type*> results, LaneBody body);

    llvm::BasicBlock* new_block(const char* name) {
        return llvm::BasicBlock::Create(context(), name, &target_);
    }

  private:
    llvm::Function& target_;
    llvm::Instruction* end_of_slots_;
    llvm::IRBuilder<> b_;
};

}  // namespace ingot::metal::jit::lanes
