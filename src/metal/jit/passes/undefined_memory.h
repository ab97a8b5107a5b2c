// Private variables that stay in memory, because an index is computed, for who follows undefined values
// (watch_undefined.cpp): each that one is stored to gets a shadow of the same shape, whose bytes say of the
// variable's whether they are undefined. Only variables whose every access is a plain load or store are
// known; the others are lost sight of.
#pragma once

#include <map>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit {

class UndefinedMemory {
  public:
    UndefinedMemory(llvm::Function& entry, const std::vector<llvm::Instruction*>& instructions);

    // What may read what the store brings: all loads of its variable, the first time that it is asked for.
    std::vector<llvm::LoadInst*> loads_after(const llvm::StoreInst& store);
    // Stores to variables that were asked for.
    std::vector<llvm::StoreInst*> watched_stores() const;
    // The bits of what is loaded, right after it, and of what is stored.
    llvm::Value* load_bits(llvm::IRBuilder<>& b, llvm::LoadInst& load);
    void store_bits(llvm::IRBuilder<>& b, const llvm::StoreInst& store, llvm::Value* bits);

  private:
    struct Variable {
        std::vector<llvm::LoadInst*> loads;
        std::vector<llvm::StoreInst*> stores;
        llvm::AllocaInst* shadow = nullptr;
    };
    bool collect(llvm::Value& pointer, Variable& variable);
    llvm::Value* shadow_of(llvm::Value* pointer);

    llvm::Function& entry_;
    std::map<const llvm::AllocaInst*, Variable> variables_;
    std::map<llvm::Value*, llvm::Value*> shadows_;  // of pointers into them
};

}  // namespace ingot::metal::jit
