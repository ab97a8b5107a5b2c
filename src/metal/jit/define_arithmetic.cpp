#include "metal/jit/define_arithmetic.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

namespace ingot::metal::jit {
namespace {

// A cast, or the saturating intrinsic that clang writes for a scalar.
llvm::Value* saturated(llvm::Instruction& cast, bool is_signed) {
    llvm::IRBuilder<> b(&cast);
    llvm::Value* value = cast.getOperand(0);
    llvm::Type* type = value->getType();
    if (!type->getScalarType()->isFloatTy() && type->getScalarSizeInBits() < 32) {
        value = b.CreateFPExt(value, type->getWithNewType(b.getFloatTy()));
    }
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {cast.getType(), value->getType()}, {value});
}

// Of a 16-bit float, which saturated() widens.
bool is_narrow_saturation(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call == nullptr) return false;
    const auto id = call->getIntrinsicID();
    return (id == llvm::Intrinsic::fptosi_sat || id == llvm::Intrinsic::fptoui_sat) &&
           call->getArgOperand(0)->getType()->getScalarSizeInBits() < 32;
}

void replace(llvm::Instruction& cast, bool is_signed) {
    cast.replaceAllUsesWith(saturated(cast, is_signed));
    cast.eraseFromParent();
}

// A constant amount below the width needs nothing.
void wrap_amount(llvm::BinaryOperator& shift) {
    llvm::Value* amount = shift.getOperand(1);
    const unsigned bits = shift.getType()->getScalarSizeInBits();
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(amount)) {
        if (constant->getValue().ult(bits)) return;
    }
    if (!llvm::isPowerOf2_32(bits)) return;  // bit-fields
    llvm::IRBuilder<> b(&shift);
    shift.setOperand(1, b.CreateAnd(amount, llvm::ConstantInt::get(amount->getType(), bits - 1)));
}

// Vectors are built from poison, element by element; everywhere else it is what undefined arithmetic leaves.
bool uses_poison(const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::ShuffleVectorInst>(instruction)) return false;
    const auto operands = llvm::drop_begin(
        instruction.operands(), llvm::isa<llvm::InsertElementInst, llvm::InsertValueInst>(instruction));
    return llvm::any_of(operands,
                        [](const llvm::Use& use) { return llvm::isa<llvm::PoisonValue>(use.get()); });
}

Result<void> refuse_poison(const llvm::Module& module) {
    std::string lines;
    for (const llvm::Function& function : module) {
        for (const llvm::Instruction& instruction : llvm::instructions(function)) {
            if (!uses_poison(instruction)) continue;
            const llvm::DILocation* location = instruction.getDebugLoc();
            const std::string place =
                location == nullptr
                    ? std::string()
                    : fmt::format("{}:{}: ", location->getFilename().str(), location->getLine());
            lines += fmt::format(
                "{}{}error: an expression of constants has no value: it shifts by the width of the type or "
                "more, "
                "or divides by zero",
                lines.empty() ? "" : "\n", place);
        }
    }
    if (!lines.empty()) return fail(ErrorKind::kCorrupt, "{}", lines);
    return {};
}

}  // namespace

Result<void> define_arithmetic(llvm::Module& module) {
    INGOT_TRY(refuse_poison(module));
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
            switch (instruction.getOpcode()) {
                case llvm::Instruction::FPToSI:
                case llvm::Instruction::FPToUI:
                    replace(instruction, instruction.getOpcode() == llvm::Instruction::FPToSI);
                    break;
                case llvm::Instruction::Call:
                    if (is_narrow_saturation(instruction)) {
                        replace(instruction, llvm::cast<llvm::IntrinsicInst>(instruction).getIntrinsicID() ==
                                                 llvm::Intrinsic::fptosi_sat);
                    }
                    break;
                case llvm::Instruction::Shl:
                case llvm::Instruction::LShr:
                case llvm::Instruction::AShr:
                    wrap_amount(llvm::cast<llvm::BinaryOperator>(instruction));
                    break;
                default:
                    break;
            }
        }
    }
    return {};
}

}  // namespace ingot::metal::jit
