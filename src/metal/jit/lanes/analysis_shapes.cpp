// Shapes: what each instruction makes of those of its operands.
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>

#include "metal/jit/lanes/analysis.h"
#include "metal/jit/lanes/calls.h"

namespace ingot::metal::jit::lanes {
namespace {

constexpr unsigned kMaxZeros = 63, kMaxDepth = 8;

// Without what is known of lane 0, which the operation changed.
Shape offsets_only(Shape shape) {
    shape.trailing_zeros = uint8_t(shape.zeros());
    shape.first.reset();
    return shape;
}

Shape with_zeros(Shape shape, int zeros) {
    if (shape.is_affine()) shape.trailing_zeros = uint8_t(std::clamp(zeros, 0, int(kMaxZeros)));
    return shape;
}

bool is_word(const llvm::Type* type) {
    return type->isPointerTy() || (type->isIntegerTy() && !type->isIntegerTy(1));
}

}  // namespace

unsigned Analysis::trailing_zeros(const llvm::Value* value) const {
    const Shape s = shape(value);
    if (!s.is_uniform()) return s.zeros();
    if (!value->getType()->isIntegerTy()) return 0;
    return std::min(kMaxZeros, llvm::computeKnownBits(value, layout_).countMinTrailingZeros());
}

Shape Analysis::of_phi(const llvm::PHINode& phi) {
    Shape result{.pattern = nullptr, .first = {}};
    const llvm::Value* only = nullptr;
    bool several = false;
    llvm::Loop* here = regions_.loop_of(phi.getParent());
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        const llvm::Value* value = phi.getIncomingValue(i);
        if (llvm::isa<llvm::UndefValue>(value)) continue;
        several |= only != nullptr && only != value;
        only = value;
        result = join(result, shape(value));
        if (result.kind != ShapeKind::kNone && phi.getNumIncomingValues() > 1) result = offsets_only(result);
        // A value leaves a loop that lanes leave in different rounds.
        for (llvm::Loop* loop = regions_.loop_of(phi.getIncomingBlock(i));
             loop != nullptr && loop != here && !loop->contains(phi.getParent());
             loop = loop->getParentLoop()) {
            const auto* defined = llvm::dyn_cast<llvm::Instruction>(value);
            if (regions_.level(loop).divergent && defined != nullptr && loop->contains(defined)) {
                return varying_shape();
            }
        }
    }
    if (only == nullptr) return uniform_shape();
    if (result.assumed) return varying_shape();
    if (several && joins_.contains(phi.getParent()) && result.kind != ShapeKind::kNone)
        return varying_shape();
    return result;
}

Shape Analysis::of_call(const llvm::CallInst& call) {
    switch (classify(call)) {
        case CallEffect::kLane: {
            Shape lane = strided_shape(1);
            lane.first = 0;
            return lane;
        }
        case CallEffect::kThread:
            return with_zeros(strided_shape(1), 5);
        case CallEffect::kPositionX:
            return variant_.linear ? strided_shape(1) : varying_shape();
        case CallEffect::kPositionYZ:
            return variant_.linear ? uniform_shape() : varying_shape();
        case CallEffect::kMatrixElement: {
            Offsets offsets;
            for (unsigned lane = 0; lane < kLanes; ++lane) offsets[lane] = matrix_element(lane);
            Shape pattern = table_.from_offsets(offsets);
            pattern.first = 0;
            return pattern;
        }
        case CallEffect::kReduce:
        case CallEffect::kContext:
            return uniform_shape();
        case CallEffect::kBroadcast:
            return shape(call.getArgOperand(1)).is_uniform() ? uniform_shape() : varying_shape();
        case CallEffect::kAcrossLanes:
            return varying_shape();
        case CallEffect::kOrdinary:
            break;
    }
    for (const llvm::Use& argument : call.args()) {
        if (!shape(argument).is_uniform()) return varying_shape();
    }
    return uniform_shape();
}

// An operation on values that are constants in every lane.
Shape Analysis::fold(llvm::Instruction& instruction) {
    if (!instruction.getType()->isIntegerTy() || instruction.getType()->isIntegerTy(1))
        return varying_shape();
    if (!llvm::isa<llvm::BinaryOperator>(instruction) && !llvm::isa<llvm::CastInst>(instruction)) {
        return varying_shape();
    }
    for (const llvm::Use& operand : instruction.operands()) {
        if (!llvm::isa<llvm::ConstantInt>(operand) && !shape(operand).first) return varying_shape();
    }
    Offsets values;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        llvm::SmallVector<llvm::Constant*, 2> constants;
        for (const llvm::Use& operand : instruction.operands()) {
            auto* constant = llvm::dyn_cast<llvm::Constant>(operand);
            const Shape s = shape(operand);
            constants.push_back(constant ? constant
                                         : llvm::ConstantInt::get(operand->getType(),
                                                                  uint64_t(*s.first + s.offset(lane)), true));
        }
        const auto* value = llvm::dyn_cast_or_null<llvm::ConstantInt>(
            llvm::ConstantFoldInstOperands(&instruction, constants, layout_));
        if (value == nullptr) return varying_shape();
        values[lane] = value->getSExtValue();
    }
    const int64_t first = values[0];
    for (int64_t& value : values) value -= first;
    Shape result = table_.from_offsets(values);
    if (!result.is_uniform()) result.first = first;
    return result;
}

// x OPERATION constant where the lanes' offsets lie below lane 0's trailing zeros: no carry joins them.
Shape Analysis::low_bits(const llvm::Instruction& instruction, int64_t (*operation)(int64_t, int64_t),
                         int64_t constant, int zeros) {
    const Shape s = shape(instruction.getOperand(0));
    const unsigned bits = instruction.getType()->getIntegerBitWidth();
    const unsigned low = std::min(s.zeros(), bits - 1);
    Offsets offsets;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const int64_t offset = s.offset(lane);
        if (offset < 0 || offset >= int64_t{1} << std::min(low, 62U)) return varying_shape();
        offsets[lane] = operation(offset, constant);
    }
    Shape result = with_zeros(table_.from_offsets(offsets), zeros);
    result.assumed = s.assumed;
    return result;
}

// Whether no lane's value wraps on the way from a lane index to `value`, read as unsigned or signed.
bool Analysis::never_wraps(const llvm::Value* value, bool is_signed, unsigned depth) const {
    if (shape(value).is_uniform()) return true;
    if (shape(value).first) {
        const Shape s = shape(value);
        const unsigned bits = value->getType()->getIntegerBitWidth();
        const int64_t most = bits >= 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
        return *s.first + s.least_offset() >= 0 && *s.first + s.greatest_offset() <= most;
    }
    if (depth == kMaxDepth) return false;
    const auto operands_are_fine = [&](const llvm::User& user) {
        return llvm::all_of(user.operands(), [&](const llvm::Use& operand) {
            return never_wraps(operand, is_signed, depth + 1);
        });
    };
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(value)) {
        // Positions stay below 2^32 in active lanes; below 2^31 isn't promised.
        const CallEffect effect = classify(*call);
        if (effect == CallEffect::kThread || effect == CallEffect::kLane) return true;
        return effect == CallEffect::kPositionX && (!is_signed || is_position_in_group(*call));
    }
    if (const auto* wider = llvm::dyn_cast<llvm::ZExtInst>(value)) {
        return never_wraps(wider->getOperand(0), false, depth + 1);
    }
    if (const auto* wider = llvm::dyn_cast<llvm::SExtInst>(value)) {
        return is_signed && never_wraps(wider->getOperand(0), true, depth + 1);
    }
    if (const auto* disjoint = llvm::dyn_cast<llvm::PossiblyDisjointInst>(value)) {
        return disjoint->isDisjoint() && operands_are_fine(*disjoint);
    }
    if (const auto* wraps = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(value)) {
        const bool flagged = is_signed ? wraps->hasNoSignedWrap() : wraps->hasNoUnsignedWrap();
        return flagged && operands_are_fine(*llvm::cast<llvm::User>(value));
    }
    // Shifted right or masked by a constant: affine only if the offsets lie below lane 0's bits.
    const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (binary == nullptr) return false;
    const bool shrinks =
        binary->getOpcode() == llvm::Instruction::LShr || binary->getOpcode() == llvm::Instruction::And ||
        binary->getOpcode() == llvm::Instruction::UDiv || binary->getOpcode() == llvm::Instruction::URem;
    return shrinks && shape(value).least_offset() >= 0;
}

Shape Analysis::extended(const llvm::Instruction& instruction) {
    const llvm::Value* from = instruction.getOperand(0);
    Shape result = offsets_only(shape(from));
    if (!from->getType()->isIntegerTy() || from->getType()->isIntegerTy(1)) return varying_shape();
    if (!never_wraps(from, llvm::isa<llvm::SExtInst>(instruction))) result.assumed = true;
    return result;
}

Shape Analysis::affine(llvm::Instruction& instruction) {
    const auto of = [&](unsigned i) { return shape(instruction.getOperand(i)); };
    const auto zeros_of = [&](unsigned i) { return int(trailing_zeros(instruction.getOperand(i))); };
    const auto* constant = instruction.getNumOperands() == 2
                               ? llvm::dyn_cast<llvm::ConstantInt>(instruction.getOperand(1))
                               : nullptr;
    const int64_t c = constant != nullptr ? constant->getSExtValue() : 0;
    const auto sum = [&](int64_t factor) {
        return with_zeros(table_.combine(of(0), 1, of(1), factor), std::min(zeros_of(0), zeros_of(1)));
    };
    switch (instruction.getOpcode()) {
        case llvm::Instruction::Add:
            return sum(1);
        case llvm::Instruction::Sub:
            return sum(-1);
        case llvm::Instruction::Or:
            return llvm::cast<llvm::PossiblyDisjointInst>(instruction).isDisjoint() ? sum(1)
                                                                                    : varying_shape();
        case llvm::Instruction::Mul:
            if (constant == nullptr) return varying_shape();
            return with_zeros(table_.combine(of(0), c, uniform_shape(), 0),
                              zeros_of(0) + int(constant->getValue().countr_zero()));
        case llvm::Instruction::Shl:
            if (constant == nullptr || c < 0 || c > 62) return varying_shape();
            return with_zeros(table_.combine(of(0), int64_t{1} << c, uniform_shape(), 0),
                              zeros_of(0) + int(c));
        case llvm::Instruction::And:
            if (constant == nullptr) return varying_shape();
            return low_bits(instruction, [](int64_t v, int64_t m) { return v & m; }, c, zeros_of(0));
        case llvm::Instruction::LShr:
            if (constant == nullptr || c < 0 || c > 62) return varying_shape();
            return low_bits(
                instruction, [](int64_t v, int64_t k) { return v >> k; }, c, zeros_of(0) - int(c));
        case llvm::Instruction::UDiv:
        case llvm::Instruction::URem: {
            if (constant == nullptr || !constant->getValue().isPowerOf2()) return varying_shape();
            const int shift = int(constant->getValue().logBase2());
            if (shift > 62) return varying_shape();
            if (instruction.getOpcode() == llvm::Instruction::UDiv) {
                return low_bits(
                    instruction, [](int64_t v, int64_t k) { return v >> k; }, shift, zeros_of(0) - shift);
            }
            return low_bits(
                instruction, [](int64_t v, int64_t k) { return v & ((int64_t{1} << k) - 1); }, shift,
                zeros_of(0));
        }
        case llvm::Instruction::ZExt:
        case llvm::Instruction::SExt:
            return extended(instruction);
        case llvm::Instruction::Trunc:
            return instruction.getType()->getIntegerBitWidth() < 16 ? varying_shape() : offsets_only(of(0));
        case llvm::Instruction::PtrToInt:
        case llvm::Instruction::IntToPtr:
        case llvm::Instruction::AddrSpaceCast:
        case llvm::Instruction::Freeze:
            return offsets_only(of(0));
        case llvm::Instruction::Select:
            return of(0).is_uniform() ? offsets_only(join(of(1), of(2))) : varying_shape();
        case llvm::Instruction::GetElementPtr:
            break;
        default:
            return varying_shape();
    }
    const auto& gep = llvm::cast<llvm::GetElementPtrInst>(instruction);
    if (gep.getType()->isVectorTy()) return varying_shape();
    Shape result = offsets_only(of(0));
    unsigned operand = 1;
    for (auto type = llvm::gep_type_begin(gep); type != llvm::gep_type_end(gep); ++type, ++operand) {
        if (type.isStruct()) continue;
        // An index is sign-extended to the pointer's width.
        Shape index = of(operand);
        const llvm::Value* value = gep.getOperand(operand);
        if (value->getType()->getIntegerBitWidth() < 64 && !never_wraps(value, true)) index.assumed = true;
        result = table_.combine(result, 1, index, int64_t(layout_.getTypeAllocSize(type.getIndexedType())));
    }
    return result;
}

Shape Analysis::transfer(llvm::Instruction& instruction) {
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) return of_phi(*phi);
    bool all_uniform = true, all_scalar = true;
    for (const llvm::Use& operand : instruction.operands()) {
        const Shape s = shape(operand);
        if (s.kind == ShapeKind::kNone) return {.pattern = nullptr, .first = {}};
        all_uniform &= s.is_uniform();
        all_scalar &= s.is_scalar();
    }
    if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
        // A copy of the variable for every lane.
        const auto bytes = variable->getAllocationSize(layout_);
        return strided_shape(
            int64_t(llvm::alignTo(bytes ? bytes->getFixedValue() : 0, private_alignment(*variable))));
    }
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        return load->isSimple() && all_uniform ? uniform_shape() : varying_shape();
    }
    if (llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
        return varying_shape();
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return of_call(*call);
    if (all_uniform) return uniform_shape();
    const Shape folded = fold(instruction);
    if (folded.is_scalar()) return folded;
    return is_word(instruction.getType()) && all_scalar ? affine(instruction) : varying_shape();
}

}  // namespace ingot::metal::jit::lanes
