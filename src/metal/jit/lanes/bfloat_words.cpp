#include "metal/jit/lanes/bfloat_words.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

namespace ingot::metal::jit::lanes {
namespace {

constexpr unsigned kPointer = 0, kAlign = 1, kMask = 2, kOtherwise = 3;  // of llvm.masked.load
constexpr unsigned kStored = 0, kTo = 1, kStoreAlign = 2, kStoreMask = 3;

bool is_bfloats(const llvm::Type* type) {
    return type->isVectorTy() && type->getScalarType()->isBFloatTy();
}

llvm::Type* words_type(const llvm::Type* type) {
    const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
    return llvm::FixedVectorType::get(llvm::Type::getInt16Ty(type->getContext()), vector->getNumElements());
}

llvm::Value* as_words(llvm::IRBuilder<>& b, llvm::Value* value) {
    llvm::Type* words = words_type(value->getType());
    auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value);
    if (cast != nullptr && cast->getOperand(0)->getType() == words) return cast->getOperand(0);
    return b.CreateBitCast(value, words);
}

uint64_t align_of(const llvm::IntrinsicInst& call, unsigned argument) {
    return llvm::cast<llvm::ConstantInt>(call.getArgOperand(argument))->getZExtValue();
}

// What makes a vector of bfloats by moving some, made of words; null if `instruction` is something else.
llvm::Value* moved(llvm::IRBuilder<>& b, llvm::Instruction& instruction) {
    llvm::Type* words = words_type(instruction.getType());
    const auto operand = [&](unsigned i) { return as_words(b, instruction.getOperand(i)); };
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        return b.CreateAlignedLoad(words, load->getPointerOperand(), load->getAlign(), load->isVolatile());
    }
    if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
        return b.CreateSelect(select->getCondition(), operand(1), operand(2));
    }
    if (auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
        return b.CreateShuffleVector(operand(0), operand(1), shuffle->getShuffleMask());
    }
    if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction)) {
        llvm::Value* element = b.CreateBitCast(insert->getOperand(1), b.getInt16Ty());
        return b.CreateInsertElement(operand(0), element, insert->getOperand(2));
    }
    if (llvm::isa<llvm::FreezeInst>(instruction)) return b.CreateFreeze(operand(0));
    if (instruction.getOpcode() == llvm::Instruction::FNeg) {
        return b.CreateXor(operand(0), llvm::ConstantInt::get(words, 0x8000));
    }
    if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
        call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_load) {
        return b.CreateMaskedLoad(words, call->getArgOperand(kPointer), llvm::Align(align_of(*call, kAlign)),
                                  call->getArgOperand(kMask), operand(kOtherwise));
    }
    return nullptr;
}

void replace(llvm::Instruction& instruction, llvm::Value* by) {
    instruction.replaceAllUsesWith(by);
    instruction.eraseFromParent();
}

void replace_phi(llvm::PHINode& phi) {
    llvm::IRBuilder<> b(&phi);
    llvm::PHINode* words = b.CreatePHI(words_type(phi.getType()), phi.getNumIncomingValues());
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        b.SetInsertPoint(phi.getIncomingBlock(i)->getTerminator());
        words->addIncoming(as_words(b, phi.getIncomingValue(i)), phi.getIncomingBlock(i));
    }
    b.SetInsertPoint(phi.getParent(), phi.getParent()->getFirstInsertionPt());
    replace(phi, b.CreateBitCast(words, phi.getType()));
}

// What takes a vector of bfloats.
void replace_user(llvm::Instruction& instruction) {
    llvm::IRBuilder<> b(&instruction);
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        store->setOperand(0, as_words(b, store->getValueOperand()));
    } else if (auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) {
        llvm::Value* word =
            b.CreateExtractElement(as_words(b, extract->getVectorOperand()), extract->getIndexOperand());
        replace(instruction, b.CreateBitCast(word, instruction.getType()));
    } else if (llvm::isa<llvm::FPExtInst>(instruction) &&
               instruction.getType()->getScalarType()->isFloatTy()) {
        auto* vector = llvm::cast<llvm::FixedVectorType>(instruction.getType());
        auto* wide = llvm::FixedVectorType::get(b.getInt32Ty(), vector->getNumElements());
        llvm::Value* bits = b.CreateZExt(as_words(b, instruction.getOperand(0)), wide);
        replace(instruction, b.CreateBitCast(b.CreateShl(bits, llvm::ConstantInt::get(wide, 16)), vector));
    } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
               call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::masked_store) {
        b.CreateMaskedStore(as_words(b, call->getArgOperand(kStored)), call->getArgOperand(kTo),
                            llvm::Align(align_of(*call, kStoreAlign)), call->getArgOperand(kStoreMask));
        instruction.eraseFromParent();
    }
}

}  // namespace

void keep_bfloats_as_words(llvm::Function& function) {
    for (llvm::BasicBlock& block : function) {
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            const bool takes = llvm::any_of(instruction.operands(), [](const llvm::Use& operand) {
                return is_bfloats(operand->getType());
            });
            if (!is_bfloats(instruction.getType())) {
                if (takes) replace_user(instruction);
                continue;
            }
            if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
                replace_phi(*phi);
                continue;
            }
            llvm::IRBuilder<> b(&instruction);
            if (llvm::Value* words = moved(b, instruction))
                replace(instruction, b.CreateBitCast(words, instruction.getType()));
        }
    }
}

}  // namespace ingot::metal::jit::lanes
