#include "metal/jit/passes/undefined_memory.h"

#include <llvm/IR/IntrinsicInst.h>

namespace ingot::metal::jit {
namespace {

// The variable that a pointer leads into by constant and computed indices alone.
const llvm::AllocaInst* variable_of(const llvm::Value* pointer) {
    while (const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer))
        pointer = element->getPointerOperand();
    return llvm::dyn_cast<llvm::AllocaInst>(pointer);
}

bool has_bits(llvm::Type* type) {
    return type->isIntOrIntVectorTy() || type->isFPOrFPVectorTy();
}

// Integers as wide as a value's elements, for bits in memory.
llvm::Type* shadow_type(llvm::Type* type) {
    const unsigned bits = std::max(8u, type->getScalarSizeInBits());
    llvm::Type* element = llvm::IntegerType::get(type->getContext(), bits);
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    return vector != nullptr ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

}  // namespace

UndefinedMemory::UndefinedMemory(llvm::Function& entry, const std::vector<llvm::Instruction*>& instructions)
    : entry_(entry) {
    for (llvm::Instruction* instruction : instructions) {
        auto* alloca = llvm::dyn_cast<llvm::AllocaInst>(instruction);
        Variable variable;
        if (alloca != nullptr && alloca->isStaticAlloca() && collect(*alloca, variable))
            variables_.emplace(alloca, std::move(variable));
    }
}

// False if it is accessed otherwise.
bool UndefinedMemory::collect(llvm::Value& pointer, Variable& variable) {
    for (llvm::User* user : pointer.users()) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
            if (!has_bits(load->getType())) return false;
            variable.loads.push_back(load);
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            if (store->getValueOperand() == &pointer || !has_bits(store->getValueOperand()->getType()))
                return false;
            variable.stores.push_back(store);
        } else if (auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
            if (element->getType()->isVectorTy() || !collect(*element, variable)) return false;
        } else {
            const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
            if (intrinsic == nullptr || !intrinsic->isLifetimeStartOrEnd()) return false;
        }
    }
    return true;
}

std::vector<llvm::LoadInst*> UndefinedMemory::loads_after(const llvm::StoreInst& store) {
    const llvm::AllocaInst* variable = variable_of(store.getPointerOperand());
    const auto known = variables_.find(variable);
    if (known == variables_.end() || known->second.shadow != nullptr) return {};
    llvm::IRBuilder<> b(&*entry_.getEntryBlock().getFirstInsertionPt());
    llvm::AllocaInst* shadow = b.CreateAlloca(variable->getAllocatedType());
    shadow->setAlignment(variable->getAlign());
    const auto bytes = variable->getAllocationSize(entry_.getDataLayout());
    b.CreateMemSet(shadow, b.getInt8(0), bytes->getFixedValue(), shadow->getAlign());
    known->second.shadow = shadow;
    shadows_[const_cast<llvm::AllocaInst*>(variable)] = shadow;
    return known->second.loads;
}

std::vector<llvm::StoreInst*> UndefinedMemory::watched_stores() const {
    std::vector<llvm::StoreInst*> stores;
    for (const auto& [alloca, variable] : variables_) {
        if (variable.shadow != nullptr)
            stores.insert(stores.end(), variable.stores.begin(), variable.stores.end());
    }
    return stores;
}

llvm::Value* UndefinedMemory::shadow_of(llvm::Value* pointer) {
    llvm::Value*& known = shadows_[pointer];
    if (known != nullptr) return known;
    auto* element = llvm::cast<llvm::GetElementPtrInst>(pointer);
    llvm::Value* base = shadow_of(element->getPointerOperand());
    auto* copy = llvm::cast<llvm::GetElementPtrInst>(element->clone());
    copy->setOperand(0, base);
    copy->insertAfter(element);
    return shadows_[pointer] = copy;
}

llvm::Value* UndefinedMemory::load_bits(llvm::IRBuilder<>& b, llvm::LoadInst& load) {
    llvm::Type* type = shadow_type(load.getType());
    llvm::Value* bytes = b.CreateAlignedLoad(type, shadow_of(load.getPointerOperand()), llvm::Align(1));
    return b.CreateICmpNE(bytes, llvm::Constant::getNullValue(type));
}

void UndefinedMemory::store_bits(llvm::IRBuilder<>& b, const llvm::StoreInst& store, llvm::Value* bits) {
    llvm::Type* type = shadow_type(store.getValueOperand()->getType());
    b.CreateAlignedStore(b.CreateSExt(bits, type),
                         shadow_of(const_cast<llvm::Value*>(store.getPointerOperand())), llvm::Align(1));
}

}  // namespace ingot::metal::jit
