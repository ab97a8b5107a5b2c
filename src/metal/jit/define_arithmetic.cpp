#include "metal/jit/define_arithmetic.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/MathExtras.h>

namespace ingot::metal::jit {
namespace {

llvm::Value* saturated(llvm::CastInst& cast, bool is_signed) {
    llvm::IRBuilder<> b(&cast);
    llvm::Value* value = cast.getOperand(0);
    llvm::Type* type = value->getType();
    if (!type->getScalarType()->isFloatTy() && type->getScalarSizeInBits() < 32) {
        value = b.CreateFPExt(value, type->getWithNewType(b.getFloatTy()));
    }
    const auto id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {cast.getType(), value->getType()}, {value});
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

}  // namespace

void define_arithmetic(llvm::Module& module) {
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
            switch (instruction.getOpcode()) {
                case llvm::Instruction::FPToSI:
                case llvm::Instruction::FPToUI: {
                    auto& cast = llvm::cast<llvm::CastInst>(instruction);
                    cast.replaceAllUsesWith(
                        saturated(cast, instruction.getOpcode() == llvm::Instruction::FPToSI));
                    cast.eraseFromParent();
                    break;
                }
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
}

}  // namespace ingot::metal::jit
