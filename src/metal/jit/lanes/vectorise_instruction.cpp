// Instructions: uniform and affine ones are cloned as scalars, varying ones are written once for each leaf of
// their type. 16-bit floats are computed as floats and rounded, as the scalar code is.
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/context_builder.h"
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {
namespace {

llvm::Value* widen_float(LaneBuilder& lanes, llvm::Value* value) {
    if (!is_short_float(value->getType())) return value;
    return lanes.b().CreateFPExt(value, lanes.wide(lanes.b().getFloatTy()));
}

// Where leaf number 0 of the element at `indices` lies among those of `type`.
unsigned first_leaf(llvm::Type* type, llvm::ArrayRef<unsigned> indices,
                    llvm::function_ref<size_t(llvm::Type*)> count_leaves) {
    size_t first = 0;
    for (const unsigned index : indices) {
        const auto element = [&](unsigned i) {
            return type->isStructTy() ? type->getStructElementType(i) : type->getArrayElementType();
        };
        for (unsigned i = 0; i < index; ++i) first += count_leaves(element(i));
        type = element(index);
    }
    return unsigned(first);
}

}  // namespace

llvm::Value* Vectoriser::clone_scalar(llvm::Instruction& instruction) {
    llvm::Instruction* clone = instruction.clone();
    for (llvm::Use& operand : clone->operands()) {
        if (llvm::isa<llvm::Instruction>(operand)) operand.set(scalar(operand));
    }
    // Lane 0 may be idle: what holds for active lanes needn't hold for the scalar.
    if (shape(&instruction).is_affine() || LaneBuilder::is_all_lanes(mask_) == false) {
        clone->dropPoisonGeneratingFlags();
    }
    b().Insert(clone);
    return clone;
}

Parts Vectoriser::emit(llvm::Instruction& instruction) {
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
        const Shape s = shape(variable);
        if (!llvm::isa<llvm::ConstantInt>(variable->getArraySize())) {
            refuse("a private variable of a size known at run time only");
            return {};
        }
        const int64_t stride = s.is_affine() ? s.stride : 16;
        llvm::AllocaInst* copies =
            lanes_.slot(llvm::ArrayType::get(b().getInt8Ty(), uint64_t(stride) * kLanes));
        copies->setAlignment(std::max(llvm::Align(64), variable->getAlign()));
        return {copies};
    }
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return emit_call(*call);
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        return load->isSimple() ? emit_load(*load) : atomic_per_lane(instruction);
    }
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        if (!store->isSimple()) return atomic_per_lane(instruction);
        emit_store(*store);
        return {};
    }
    if (llvm::isa<llvm::FenceInst>(instruction)) {
        b().Insert(instruction.clone());
        return {};
    }
    if (llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
        return atomic_per_lane(instruction);
    }
    if (!shape(&instruction).is_scalar()) return emit_varying(instruction);
    if (shape(&instruction).is_affine() && instruction.getOpcode() == llvm::Instruction::Or) {
        // Disjoint in every lane, and lane 0's alone may not be.
        return {b().CreateAdd(scalar(instruction.getOperand(0)), scalar(instruction.getOperand(1)))};
    }
    return {clone_scalar(instruction)};
}

// One memory operation after the other, in the order of lanes.
Parts Vectoriser::atomic_per_lane(llvm::Instruction& instruction) {
    llvm::SmallVector<llvm::Value*, 3> operands;
    for (llvm::Use& operand : instruction.operands()) {
        const Parts parts = vectors(operand);
        if (parts.size() != 1) {
            refuse("an atomic operation on a vector");
            return {};
        }
        operands.push_back(parts[0]);
    }
    const auto results = instruction.getType()->isVoidTy() ? llvm::SmallVector<llvm::Type*, 4>{}
                                                           : leaves(instruction.getType());
    return lanes_.for_each_lane(mask_, operands, results,
                                [&](llvm::Value*, llvm::ArrayRef<llvm::Value*> elements) {
                                    llvm::Instruction* clone = instruction.clone();
                                    for (unsigned i = 0; i < elements.size(); ++i)
                                        clone->setOperand(i, elements[i]);
                                    b().Insert(clone);
                                    if (results.empty()) return Parts{};
                                    if (!clone->getType()->isStructTy()) return Parts{clone};
                                    Parts parts;
                                    for (unsigned i = 0; i < results.size(); ++i)
                                        parts.push_back(b().CreateExtractValue(clone, i));
                                    return parts;
                                });
}

Parts Vectoriser::emit_binary(llvm::BinaryOperator& binary, llvm::ArrayRef<Parts> operands) {
    Parts result;
    const auto types = leaves(binary.getType());
    for (size_t i = 0; i < types.size(); ++i) {
        llvm::Value *left = widen_float(lanes_, operands[0][i]), *right = widen_float(lanes_, operands[1][i]);
        const auto opcode = binary.getOpcode();
        const bool divides = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::UDiv ||
                             opcode == llvm::Instruction::SRem || opcode == llvm::Instruction::URem;
        // An idle lane's divisor may be 0.
        if (divides && !llvm::isa<llvm::Constant>(right) && !LaneBuilder::is_all_lanes(mask_)) {
            right = b().CreateSelect(mask_, right, llvm::ConstantInt::get(right->getType(), 1));
        }
        llvm::Value* value = b().CreateBinOp(opcode, left, right);
        if (auto* made = llvm::dyn_cast<llvm::Instruction>(value);
            made && llvm::isa<llvm::FPMathOperator>(made)) {
            made->copyFastMathFlags(&binary);
        }
        result.push_back(is_short_float(types[i]) ? lanes_.truncate_float(value, lanes_.wide(types[i]))
                                                  : value);
    }
    return result;
}

Parts Vectoriser::emit_cast(llvm::CastInst& cast, const Parts& operand) {
    const auto to = leaves(cast.getType()), from = leaves(cast.getOperand(0)->getType());
    Parts result;
    if (cast.getOpcode() == llvm::Instruction::BitCast && to.size() != from.size()) {
        // Bits are regrouped: elements of a lane become one integer, or an integer becomes several.
        const unsigned from_bits = unsigned(from[0]->getPrimitiveSizeInBits().getFixedValue());
        const unsigned to_bits = unsigned(to[0]->getPrimitiveSizeInBits().getFixedValue());
        const auto integers = [&](unsigned bits) { return lanes_.wide(b().getIntNTy(bits)); };
        const auto shift = [&](unsigned bits, unsigned by) {
            return lanes_.splat(llvm::ConstantInt::get(b().getIntNTy(bits), by));
        };
        for (unsigned i = 0; i < to.size(); ++i) {
            llvm::Value* word = nullptr;
            if (from_bits < to_bits) {
                const unsigned count = to_bits / from_bits;
                for (unsigned j = 0; j < count; ++j) {
                    llvm::Value* piece = b().CreateBitCast(operand[i * count + j], integers(from_bits));
                    piece = b().CreateShl(b().CreateZExt(piece, integers(to_bits)),
                                          shift(to_bits, j * from_bits));
                    word = word ? b().CreateOr(word, piece) : piece;
                }
            } else {
                const unsigned count = from_bits / to_bits;
                word = b().CreateBitCast(operand[i / count], integers(from_bits));
                word = b().CreateLShr(word, shift(from_bits, i % count * to_bits));
                word = b().CreateTrunc(word, integers(to_bits));
            }
            result.push_back(b().CreateBitCast(word, lanes_.wide(to[i])));
        }
        return result;
    }
    const bool is_bits = cast.getOpcode() == llvm::Instruction::BitCast;
    for (size_t i = 0; i < to.size(); ++i) {
        llvm::Value* value = operand[i];
        llvm::Type* type = lanes_.wide(to[i]);
        if (cast.getOpcode() == llvm::Instruction::FPTrunc) {
            result.push_back(lanes_.truncate_float(value, type));
        } else if (!is_bits && is_short_float(to[i]) && !value->getType()->isFPOrFPVectorTy()) {
            llvm::Value* wide = b().CreateCast(cast.getOpcode(), value, lanes_.wide(b().getFloatTy()));
            result.push_back(lanes_.truncate_float(wide, type));
        } else if (!is_bits && is_short_float(value->getType()) && to[i]->isIntegerTy()) {
            result.push_back(b().CreateCast(cast.getOpcode(), widen_float(lanes_, value), type));
        } else {
            result.push_back(b().CreateCast(cast.getOpcode(), value, type));
        }
    }
    return result;
}

Parts Vectoriser::emit_select(llvm::SelectInst& select, llvm::ArrayRef<Parts> operands) {
    Parts result;
    const bool one_condition = !select.getCondition()->getType()->isVectorTy();
    for (size_t i = 0; i < operands[1].size(); ++i) {
        llvm::Value* condition = one_condition && shape(select.getCondition()).is_uniform()
                                     ? scalar(select.getCondition())
                                     : operands[0][one_condition ? 0 : i];
        result.push_back(b().CreateSelect(condition, operands[1][i], operands[2][i]));
    }
    return result;
}

// Vectors and records of a lane are taken apart: moving elements is renaming.
Parts Vectoriser::emit_elements(llvm::Instruction& instruction, llvm::ArrayRef<Parts> operands) {
    const auto is_element = [&](llvm::Value* index, uint64_t i) {
        return b().CreateICmpEQ(index, llvm::ConstantInt::get(index->getType(), i));
    };
    const auto count_leaves = [&](llvm::Type* type) { return leaves(type).size(); };
    Parts result;
    if (auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) {
        if (auto* index = llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand())) {
            return {operands[0][index->getZExtValue()]};
        }
        llvm::Value* element = operands[0][0];
        for (size_t i = 1; i < operands[0].size(); ++i) {
            element = b().CreateSelect(is_element(operands[1][0], i), operands[0][i], element);
        }
        return {element};
    }
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction)) {
        result = operands[0];
        if (auto* index = llvm::dyn_cast<llvm::ConstantInt>(insert->getOperand(2))) {
            result[index->getZExtValue()] = operands[1][0];
            return result;
        }
        for (size_t i = 0; i < result.size(); ++i) {
            result[i] = b().CreateSelect(is_element(operands[2][0], i), operands[1][0], result[i]);
        }
        return result;
    }
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
        const int count = int(operands[0].size());
        llvm::Type* element = lanes_.wide(instruction.getType()->getScalarType());
        for (const int index : shuffle->getShuffleMask()) {
            result.push_back(index < 0       ? llvm::PoisonValue::get(element)
                             : index < count ? operands[0][size_t(index)]
                                             : operands[1][size_t(index - count)]);
        }
        return result;
    }
    if (auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction)) {
        const unsigned first =
            first_leaf(extract->getAggregateOperand()->getType(), extract->getIndices(), count_leaves);
        const size_t count = leaves(extract->getType()).size();
        result.append(operands[0].begin() + first, operands[0].begin() + first + count);
        return result;
    }
    auto& insert = llvm::cast<llvm::InsertValueInst>(instruction);
    result = operands[0];
    const unsigned first = first_leaf(insert.getType(), insert.getIndices(), count_leaves);
    llvm::copy(operands[1], result.begin() + first);
    return result;
}

Parts Vectoriser::emit_varying(llvm::Instruction& instruction) {
    if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
        if (gep->getType()->isVectorTy()) {
            refuse("a vector of pointers");
            return {};
        }
        return exact(instruction);
    }
    llvm::SmallVector<Parts, 3> operands;
    for (llvm::Use& operand : instruction.operands()) operands.push_back(vectors(operand));
    const auto each_part = [&](auto make) {
        Parts result;
        for (size_t i = 0; i < operands[0].size(); ++i) result.push_back(make(i));
        return result;
    };
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
        return emit_binary(*binary, operands);
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return emit_cast(*cast, operands[0]);
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return emit_select(*select, operands);
    if (llvm::isa<llvm::UnaryOperator>(instruction)) {
        return each_part([&](size_t i) { return b().CreateFNeg(operands[0][i]); });
    }
    if (llvm::isa<llvm::FreezeInst>(instruction)) {
        return each_part([&](size_t i) { return b().CreateFreeze(operands[0][i]); });
    }
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
        return each_part([&](size_t i) {
            return b().CreateCmp(compare->getPredicate(), widen_float(lanes_, operands[0][i]),
                                 widen_float(lanes_, operands[1][i]));
        });
    }
    switch (instruction.getOpcode()) {
        case llvm::Instruction::ExtractElement:
        case llvm::Instruction::InsertElement:
        case llvm::Instruction::ShuffleVector:
        case llvm::Instruction::ExtractValue:
        case llvm::Instruction::InsertValue:
            return emit_elements(instruction, operands);
        default:
            refuse(fmt::format("the instruction '{}'", instruction.getOpcodeName()));
            return {};
    }
}

}  // namespace ingot::metal::jit::lanes
