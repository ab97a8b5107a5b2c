// 32-bit additions, multiplications and shifts that an address is computed of: each is done once more with
// its overflow bit, which leads to a call of the runtime.
#include <set>

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/jit/passes/watcher.h"

namespace ingot::metal::jit {
namespace {

bool computes_on(const llvm::Value* value) {
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst, llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(value))
        return true;
    if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value))
        return call->doesNotAccessMemory() && call->getType()->isIntegerTy();
    const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(value);
    return binary != nullptr && binary->getType()->isIntegerTy();
}

// Instructions that indices are computed by.
std::set<llvm::Instruction*> index_arithmetic(const Watcher& watcher) {
    std::vector<llvm::Value*> open;
    for (llvm::Instruction* instruction : watcher.instructions()) {
        auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction);
        if (element != nullptr) open.insert(open.end(), element->idx_begin(), element->idx_end());
    }
    std::set<llvm::Instruction*> found;
    while (!open.empty()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(open.back());
        open.pop_back();
        if (instruction == nullptr || !computes_on(instruction) || !found.insert(instruction).second)
            continue;
        open.insert(open.end(), instruction->op_begin(), instruction->op_end());
    }
    return found;
}

// What compilers add where the source subtracts: its value is meant to be below zero.
bool is_negative(const llvm::Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value)) return constant->isNegative();
    const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (binary == nullptr) return false;
    return binary->getOpcode() == llvm::Instruction::Sub || binary->getOpcode() == llvm::Instruction::Xor ||
           (binary->getOpcode() == llvm::Instruction::Add && is_negative(binary->getOperand(1)));
}

struct Checked {
    llvm::Intrinsic::ID id;
    llvm::Value* right;
    std::string name;
};

std::optional<Checked> checked_form(llvm::BinaryOperator& operation) {
    using namespace llvm::Intrinsic;
    const bool is_signed = operation.hasNoSignedWrap() && !operation.hasNoUnsignedWrap();
    const char* kind = is_signed ? "signed" : "unsigned";
    llvm::Value* right = operation.getOperand(1);
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(right);
    switch (operation.getOpcode()) {
        case llvm::Instruction::Mul:
            return Checked{is_signed ? smul_with_overflow : umul_with_overflow, right,
                           fmt::format("{} multiplication", kind)};
        case llvm::Instruction::Add:
            // i - 1, as compilers write it.
            if (!is_signed && constant != nullptr && constant->isNegative()) {
                return Checked{usub_with_overflow,
                               llvm::ConstantInt::get(right->getType(), -constant->getValue()),
                               "unsigned subtraction"};
            }
            if (!is_signed && (is_negative(operation.getOperand(0)) || is_negative(right)))
                return std::nullopt;
            return Checked{is_signed ? sadd_with_overflow : uadd_with_overflow, right,
                           fmt::format("{} addition", kind)};
        case llvm::Instruction::Shl:
            if (constant == nullptr ||
                constant->getZExtValue() >= operation.getType()->getIntegerBitWidth() - 1)
                return std::nullopt;
            return Checked{is_signed ? smul_with_overflow : umul_with_overflow,
                           llvm::ConstantInt::get(right->getType(), uint64_t{1} << constant->getZExtValue()),
                           fmt::format("{} multiplication", kind)};
        default:
            return std::nullopt;
    }
}

}  // namespace

void watch_overflow(Watcher& watcher) {
    llvm::IRBuilder<>& b = watcher.b();
    for (llvm::Instruction* instruction : index_arithmetic(watcher)) {
        auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(instruction);
        if (operation == nullptr || operation->getType()->getIntegerBitWidth() > 32) continue;
        auto checked = checked_form(*operation);
        if (!checked) continue;
        b.SetInsertPoint(operation->getNextNode());
        b.SetCurrentDebugLocation(llvm::DebugLoc());
        llvm::Value* both = b.CreateBinaryIntrinsic(checked->id, operation->getOperand(0), checked->right);
        llvm::Value* wraps = b.CreateExtractValue(both, 1);
        llvm::Instruction* then = llvm::SplitBlockAndInsertIfThen(
            wraps, llvm::cast<llvm::Instruction>(wraps)->getNextNode(), false);
        Site site = watcher.new_site(*operation, SiteKind::kOverflow);
        site.function = std::move(checked->name);
        watcher.tell(*then, std::move(site));
    }
}

}  // namespace ingot::metal::jit
