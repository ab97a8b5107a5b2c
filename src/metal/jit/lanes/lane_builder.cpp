#include "metal/jit/lanes/lane_builder.h"

#include <llvm/IR/Intrinsics.h>

namespace ingot::metal::jit::lanes {
namespace {

// Booleans are kept as bytes in memory, or a lane's couldn't be addressed.
llvm::Type* stored_type(llvm::Type* type) {
    return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(type->getContext()) : type;
}

}  // namespace

LaneBuilder::LaneBuilder(llvm::Function& target, llvm::Instruction* end_of_slots)
    : target_(target), end_of_slots_(end_of_slots), b_(target.getContext()) {}

llvm::Constant* LaneBuilder::lanes(llvm::Type* type, llvm::function_ref<int64_t(unsigned)> value) {
    llvm::SmallVector<llvm::Constant*, kLanes> constants;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        constants.push_back(llvm::ConstantInt::get(type, uint64_t(value(lane)), true));
    }
    return llvm::ConstantVector::get(constants);
}

bool LaneBuilder::is_all_lanes(const llvm::Value* mask) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
    return constant != nullptr && constant->isAllOnesValue();
}

llvm::Value* LaneBuilder::first_active(llvm::Value* mask) {
    if (is_all_lanes(mask)) return b_.getInt32(0);
    llvm::Value* lane =
        b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {bits(mask), b_.getFalse()});
    return b_.CreateAnd(lane, kLanes - 1);
}

llvm::Value* LaneBuilder::of_first_active(llvm::Value* value, llvm::Value* mask) {
    return b_.CreateExtractElement(value, first_active(mask));
}

llvm::AllocaInst* LaneBuilder::slot(llvm::Type* type) {
    return llvm::IRBuilder<>(end_of_slots_).CreateAlloca(type);
}

llvm::AllocaInst* LaneBuilder::scratch(llvm::Type* type) {
    llvm::AllocaInst* place = slot(type);
    b_.CreateLifetimeStart(place);
    return place;
}

llvm::Value* LaneBuilder::shuffle(llvm::Value* a, llvm::Value* b, llvm::function_ref<int(unsigned)> pick) {
    llvm::SmallVector<int, kLanes> mask;
    for (unsigned lane = 0; lane < kLanes; ++lane) mask.push_back(pick(lane));
    return b_.CreateShuffleVector(a, b, mask);
}

llvm::Value* LaneBuilder::permute(llvm::Value* value, llvm::Value* source) {
    source = b_.CreateAnd(b_.CreateZExtOrTrunc(source, wide(b_.getInt32Ty())), splat_u32(kLanes - 1));
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(source)) {
        return shuffle(value, value, [&](unsigned lane) {
            const auto* index = llvm::dyn_cast<llvm::ConstantInt>(constant->getAggregateElement(lane));
            return index != nullptr ? int(index->getZExtValue()) : -1;
        });
    }
    // Through memory: one store, and a load a lane.
    llvm::Type* element = value->getType()->getScalarType();
    llvm::Type* stored = stored_type(element);
    llvm::AllocaInst* table = scratch(wide(stored));
    b_.CreateStore(stored == element ? value : b_.CreateZExt(value, wide(stored)), table);
    llvm::Value* result = llvm::PoisonValue::get(wide(stored));
    for (uint64_t lane = 0; lane < kLanes; ++lane) {
        llvm::Value* index = b_.CreateZExt(b_.CreateExtractElement(source, lane), b_.getInt64Ty());
        result =
            b_.CreateInsertElement(result, b_.CreateLoad(stored, b_.CreateGEP(stored, table, index)), lane);
    }
    release(table);
    return stored == element ? result : b_.CreateTrunc(result, value->getType());
}

llvm::Value* LaneBuilder::reduce(llvm::Value* value,
                                 llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> combine) {
    for (int width = int(kLanes) / 2; width >= 1; width /= 2) {
        llvm::SmallVector<int, kLanes> low, high;
        for (int i = 0; i < width; ++i) {
            low.push_back(i);
            high.push_back(i + width);
        }
        value = combine(b_.CreateShuffleVector(value, low), b_.CreateShuffleVector(value, high));
    }
    return b_.CreateExtractElement(value, uint64_t{0});
}

llvm::Value* LaneBuilder::deinterleave(llvm::ArrayRef<llvm::Value*> units, unsigned element) {
    Parts rest(units.begin(), units.end());
    for (unsigned bit = element; rest.size() > 1; bit >>= 1) {
        Parts next;
        for (size_t i = 0; i < rest.size(); i += 2) {
            next.push_back(shuffle(rest[i], rest[i + 1], [&](unsigned l) { return int(2 * l + (bit & 1)); }));
        }
        rest = std::move(next);
    }
    return rest[0];
}

Parts LaneBuilder::interleave(llvm::ArrayRef<llvm::Value*> elements) {
    if (elements.size() == 1) return {elements[0]};
    Parts even, odd, result;
    for (size_t i = 0; i < elements.size(); ++i) (i % 2 == 0 ? even : odd).push_back(elements[i]);
    even = interleave(even);
    odd = interleave(odd);
    for (size_t i = 0; i < even.size(); ++i) {
        for (unsigned half = 0; half < 2; ++half) {
            result.push_back(shuffle(even[i], odd[i], [&](unsigned l) {
                return int(half * kLanes / 2 + l / 2 + (l % 2) * kLanes);
            }));
        }
    }
    return result;
}

llvm::Value* LaneBuilder::concatenate(llvm::ArrayRef<llvm::Value*> pieces) {
    if (pieces.size() == 1) return pieces[0];
    llvm::Value* a = concatenate(pieces.take_front(pieces.size() / 2));
    llvm::Value* b = concatenate(pieces.drop_front(pieces.size() / 2));
    const unsigned count = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
    llvm::SmallVector<int> mask;
    for (unsigned i = 0; i < 2 * count; ++i) mask.push_back(int(i));
    return b_.CreateShuffleVector(a, b, mask);
}

llvm::Value* LaneBuilder::to_bfloat(llvm::Value* floats) {
    auto* words = wide(b_.getInt32Ty());
    llvm::Value* word = b_.CreateBitCast(floats, words);
    llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(word, splat_u32(16)), splat_u32(1));
    llvm::Value* rounded = b_.CreateAdd(b_.CreateAdd(word, splat_u32(0x7FFF)), odd);
    llvm::Value* nan = b_.CreateOr(word, splat_u32(0x400000));
    word = b_.CreateSelect(b_.CreateFCmpUNO(floats, floats), nan, rounded);
    word = b_.CreateTrunc(b_.CreateLShr(word, splat_u32(16)), wide(b_.getInt16Ty()));
    return b_.CreateBitCast(word, wide(b_.getBFloatTy()));
}

llvm::Value* LaneBuilder::truncate_float(llvm::Value* value, llvm::Type* to) {
    if (!to->getScalarType()->isBFloatTy()) return b_.CreateFPTrunc(value, to);
    if (!value->getType()->getScalarType()->isFloatTy()) return b_.CreateFPTrunc(value, to);
    return to_bfloat(value);
}

Parts LaneBuilder::for_each_lane(llvm::Value* mask, llvm::ArrayRef<llvm::Value*> operands,
                                 llvm::ArrayRef<llvm::Type*> results, LaneBody body) {
    llvm::SmallVector<llvm::AllocaInst*, 8> inputs, outputs;
    for (llvm::Value* operand : operands) {
        llvm::Type* element = operand->getType()->getScalarType();
        llvm::Type* stored = stored_type(element);
        inputs.push_back(scratch(wide(stored)));
        b_.CreateStore(stored == element ? operand : b_.CreateZExt(operand, wide(stored)), inputs.back());
    }
    for (llvm::Type* type : results) outputs.push_back(scratch(wide(stored_type(type))));
    llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = new_block("lane"), *after = new_block("lanes");
    llvm::Value* all = bits(mask);
    // The caller's block runs if any lane is active; an empty mask would otherwise ask for lane 32.
    b_.CreateCondBr(b_.CreateICmpNE(all, b_.getInt32(0)), loop, after);
    b_.SetInsertPoint(loop);
    llvm::PHINode* left = b_.CreatePHI(b_.getInt32Ty(), 2);
    left->addIncoming(all, before);
    llvm::Value* lane = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {left, b_.getTrue()});
    lane = b_.CreateZExt(lane, b_.getInt64Ty());
    Parts elements;
    for (size_t i = 0; i < operands.size(); ++i) {
        llvm::Type* element = operands[i]->getType()->getScalarType();
        llvm::Type* stored = stored_type(element);
        llvm::Value* value = b_.CreateLoad(stored, b_.CreateGEP(stored, inputs[i], lane));
        elements.push_back(stored == element ? value : b_.CreateTrunc(value, element));
    }
    const Parts made = body(lane, elements);
    for (size_t i = 0; i < results.size(); ++i) {
        llvm::Type* stored = stored_type(results[i]);
        llvm::Value* value = stored == results[i] ? made[i] : b_.CreateZExt(made[i], stored);
        b_.CreateStore(value, b_.CreateGEP(stored, outputs[i], lane));
    }
    llvm::Value* rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
    left->addIncoming(rest, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt32(0)), loop, after);
    b_.SetInsertPoint(after);
    Parts vectors;
    for (size_t i = 0; i < results.size(); ++i) {
        llvm::Value* value = b_.CreateLoad(wide(stored_type(results[i])), outputs[i]);
        vectors.push_back(stored_type(results[i]) == results[i] ? value
                                                                : b_.CreateTrunc(value, wide(results[i])));
    }
    for (llvm::AllocaInst* place : inputs) release(place);
    for (llvm::AllocaInst* place : outputs) release(place);
    return vectors;
}

}  // namespace ingot::metal::jit::lanes
