// Values: where a source value lives in the target, as a scalar or as vectors; and the whole run.
#include "metal/jit/context_builder.h"
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {
namespace {

// Instructions for one thread beyond which a kernel's vector form would take seconds to generate.
constexpr unsigned kLargeInstructions = 3000;

// The elements of a scalar of any type, in order.
void split_scalar(llvm::IRBuilder<>& b, llvm::Value* value, Parts& elements) {
    llvm::Type* type = value->getType();
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
        for (uint64_t i = 0; i < vector->getNumElements(); ++i) {
            elements.push_back(b.CreateExtractElement(value, i));
        }
    } else if (type->isAggregateType()) {
        const unsigned count =
            type->isStructTy() ? type->getStructNumElements() : unsigned(type->getArrayNumElements());
        for (unsigned i = 0; i < count; ++i) split_scalar(b, b.CreateExtractValue(value, i), elements);
    } else {
        elements.push_back(value);
    }
}

void add_leaves(llvm::Type* type, llvm::SmallVectorImpl<llvm::Type*>& leaves) {
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
        leaves.append(vector->getNumElements(), vector->getElementType());
    } else if (auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
        for (llvm::Type* element : record->elements()) add_leaves(element, leaves);
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
        for (uint64_t i = 0; i < array->getNumElements(); ++i) add_leaves(array->getElementType(), leaves);
    } else {
        leaves.push_back(type);
    }
}

llvm::Instruction* start_slots(llvm::Function& target) {
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(target.getContext(), "slots", &target));
    return b.CreateBr(llvm::BasicBlock::Create(target.getContext(), "start", &target));
}

}  // namespace

Vectoriser::Vectoriser(llvm::Function& source, llvm::Function& target, Variant variant)
    : target_(target),
      layout_(source.getParent()->getDataLayout()),
      variant_(variant),
      analysis_(source, variant),
      regions_(analysis_.regions()),
      end_of_slots_(start_slots(target)),
      lanes_(target, end_of_slots_),
      is_large_(source.getInstructionCount() > kLargeInstructions) {}

Vectoriser::~Vectoriser() = default;

void Vectoriser::refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
}

llvm::Value* Vectoriser::agreed(llvm::Value* value) {
    return shape(value).is_uniform() ? scalar(value) : lanes_.of_first_active(vector(value), mask_);
}

llvm::SmallVector<llvm::Type*, 4> Vectoriser::leaves(llvm::Type* type) const {
    llvm::SmallVector<llvm::Type*, 4> result;
    add_leaves(type, result);
    return result;
}

Parts Vectoriser::make_slots(const llvm::Instruction& instruction) {
    if (shape(&instruction).is_scalar()) return {lanes_.slot(instruction.getType())};
    Parts slots;
    for (llvm::Type* type : leaves(instruction.getType())) slots.push_back(lanes_.slot(lanes_.wide(type)));
    return slots;
}

Parts Vectoriser::get(llvm::Value* value) {
    if (const auto found = local_.find(value); found != local_.end()) return found->second;
    if (const auto found = variables_.find(value); found != variables_.end()) return found->second;
    if (llvm::isa<llvm::Constant>(value)) return {value};
    if (const auto place = residents_.find(value); place != residents_.end())
        return load_matrix(*value, place->second);
    const auto found = slots_.find(value);
    if (found == slots_.end()) {
        refuse("a value that another block needs has no place");
        return {llvm::PoisonValue::get(value->getType())};
    }
    Parts parts;
    for (llvm::Value* slot : found->second) {
        parts.push_back(b().CreateLoad(llvm::cast<llvm::AllocaInst>(slot)->getAllocatedType(), slot));
    }
    return parts;
}

Parts Vectoriser::vectors(llvm::Value* value) {
    const Shape s = shape(value);
    if (!s.is_scalar()) return get(value);
    if (s.assumed) return exact(llvm::cast<llvm::Instruction>(*value));
    llvm::Value* base = scalar(value);
    if (s.is_affine()) {
        const bool is_pointer = base->getType()->isPointerTy();
        llvm::Type* type = is_pointer ? b().getInt64Ty() : base->getType();
        if (s.first && !is_pointer) {
            return {lanes_.lanes(type, [&](unsigned lane) { return *s.first + s.offset(lane); })};
        }
        llvm::Value* offsets = lanes_.lanes(type, [&](unsigned lane) { return s.offset(lane); });
        if (is_pointer) return {b().CreateGEP(b().getInt8Ty(), base, offsets)};
        return {b().CreateAdd(lanes_.splat(base), offsets)};
    }
    Parts elements, result;
    split_scalar(b(), base, elements);
    for (llvm::Value* element : elements) {
        auto* type = lanes_.wide(element->getType());
        result.push_back(llvm::isa<llvm::PoisonValue>(element) ? llvm::PoisonValue::get(type)
                                                               : lanes_.splat(element));
    }
    return result;
}

Parts Vectoriser::exact(llvm::Instruction& instruction) {
    if (auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) {
        llvm::Value* operand = vector(cast->getOperand(0));
        return {b().CreateCast(cast->getOpcode(), operand, lanes_.wide(cast->getType()))};
    }
    if (auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
        return {b().CreateBinOp(binary->getOpcode(), vector(binary->getOperand(0)),
                                vector(binary->getOperand(1)))};
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
        return {b().CreateSelect(scalar(select->getCondition()), vector(select->getTrueValue()),
                                 vector(select->getFalseValue()))};
    }
    if (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(&instruction)) {
        return {b().CreateFreeze(vector(freeze->getOperand(0)))};
    }
    auto& gep = llvm::cast<llvm::GetElementPtrInst>(instruction);
    llvm::SmallVector<llvm::Value*> indices;
    const auto operand = [&](llvm::Value* v) { return shape(v).is_uniform() ? scalar(v) : vector(v); };
    for (llvm::Value* index : gep.indices()) indices.push_back(operand(index));
    llvm::Value* pointer = operand(gep.getPointerOperand());
    llvm::Value* result = b().CreateGEP(gep.getSourceElementType(), pointer, indices);
    return {result->getType()->isVectorTy() ? result : lanes_.splat(result)};
}

// Whether all of the narrow value's lanes are `scalar + offset` when read at their own width.
llvm::Value* Vectoriser::fits(llvm::Value* narrow, const Shape& s, bool is_signed) {
    const unsigned bits = narrow->getType()->getIntegerBitWidth();
    if (bits > 32) return b().getFalse();
    llvm::Type* i64 = b().getInt64Ty();
    llvm::Value* base = is_signed ? b().CreateSExt(scalar(narrow), i64) : b().CreateZExt(scalar(narrow), i64);
    const int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
    const int64_t most = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    llvm::Value* low = b().CreateAdd(base, b().getInt64(uint64_t(s.least_offset())));
    llvm::Value* high = b().CreateAdd(base, b().getInt64(uint64_t(s.greatest_offset())));
    return b().CreateAnd(b().CreateICmpSGE(low, b().getInt64(uint64_t(least))),
                         b().CreateICmpSLE(high, b().getInt64(uint64_t(most))));
}

llvm::Value* Vectoriser::holds(llvm::Value* value) {
    if (!shape(value).assumed) return b().getTrue();
    auto& instruction = llvm::cast<llvm::Instruction>(*value);
    llvm::Value* result = b().getTrue();
    const auto also = [&](llvm::Value* condition) { result = b().CreateAnd(result, condition); };
    for (llvm::Value* operand : instruction.operands()) also(holds(operand));
    if (llvm::isa<llvm::ZExtInst>(instruction) || llvm::isa<llvm::SExtInst>(instruction)) {
        llvm::Value* narrow = instruction.getOperand(0);
        also(fits(narrow, shape(narrow), llvm::isa<llvm::SExtInst>(instruction)));
    }
    if (auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
        for (llvm::Value* index : gep->indices()) {
            if (shape(index).is_affine() && index->getType()->getIntegerBitWidth() < 64) {
                also(fits(index, shape(index), true));
            }
        }
    }
    return result;
}

void Vectoriser::define(llvm::Instruction& instruction, const Parts& parts) {
    local_[&instruction] = parts;
    const auto found = slots_.find(&instruction);
    if (found == slots_.end()) return;
    if (found->second.size() != parts.size()) {
        refuse(fmt::format("'{}' has {} parts instead of {}", instruction.getOpcodeName(), parts.size(),
                           found->second.size()));
        return;
    }
    for (size_t i = 0; i < parts.size(); ++i) b().CreateStore(parts[i], found->second[i]);
}

void Vectoriser::emit_block(llvm::BasicBlock& block) {
    block_ = &block;
    local_.clear();
    matrices_.clear();
    b().SetInsertPoint(blocks_[&block]);
    mask_ = base_mask_;
    if (regions_.is_masked(&block)) {
        mask_ = b().CreateLoad(lanes_.wide(b().getInt1Ty()), mask_slots_[&block]);
    }
    for (llvm::Instruction& instruction : block) {
        if (instruction.isTerminator()) break;
        Parts parts;
        if (residents_.contains(&instruction) && llvm::isa<llvm::PHINode>(instruction)) continue;
        if (llvm::isa<llvm::PHINode>(instruction)) {
            for (llvm::Value* slot : phi_slots_[&instruction]) {
                parts.push_back(b().CreateLoad(llvm::cast<llvm::AllocaInst>(slot)->getAllocatedType(), slot));
            }
        } else {
            parts = emit(instruction);
        }
        if (!refusal_.empty()) return;
        if (instruction.getType()->isVoidTy() || parts.empty()) continue;
        if (llvm::isa<llvm::AllocaInst>(instruction)) {
            variables_[&instruction] = parts;
        } else {
            define(instruction, parts);
        }
    }
    end_block(block);
}

Result<void> Vectoriser::run() {
    INGOT_TRY(analysis_.run());
    b().SetInsertPoint(&target_.back());
    context_ = std::make_unique<ContextBuilder>(target_, target_.getArg(0));
    base_mask_ = variant_.full ? lanes_.all_lanes()
                               : b().CreateBitCast(context_->active_lanes(), lanes_.wide(b().getInt1Ty()));
    find_residents();
    create_blocks();
    llvm::BasicBlock* first = regions_.blocks()[0];
    b().CreateStore(base_mask_, mask_slots_[first]);
    b().CreateBr(blocks_[first]);
    create_guards();
    create_loop_ends();
    for (llvm::BasicBlock* block : regions_.blocks()) {
        emit_block(*block);
        if (!refusal_.empty()) break;
    }
    context_.reset();
    if (!refusal_.empty()) return fail(ErrorKind::kUnsupported, "{}", refusal_);
    return {};
}

}  // namespace ingot::metal::jit::lanes
