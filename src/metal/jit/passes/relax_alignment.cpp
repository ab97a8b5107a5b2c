// A GPU asks a vector access to be aligned to its element only, and kernels count on it. Whole-vector
// alignment in the module would become aligned host instructions that trap: weaken it to the element's.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

llvm::Align element_alignment(llvm::Type* type, const llvm::DataLayout& layout) {
    llvm::Type* scalar = type->getScalarType();
    return scalar->isSized() ? layout.getABITypeAlign(scalar) : llvm::Align(1);
}

template <typename Access>
void relax(Access& access, llvm::Type* type, const llvm::DataLayout& layout) {
    if (access.getPointerAddressSpace() == 0) return;  // private: the compiler placed it itself
    access.setAlignment(std::min(access.getAlign(), element_alignment(type, layout)));
}

}  // namespace

Result<void> relax_alignment(llvm::Module& module, PassState&) {
    const llvm::DataLayout& layout = module.getDataLayout();
    for (llvm::Function& function : module) {
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
                relax(*load, load->getType(), layout);
            } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
                relax(*store, store->getValueOperand()->getType(), layout);
            } else if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
                if (copy->getDestAddressSpace() != 0) copy->setDestAlignment(llvm::Align(1));
                if (copy->getSourceAddressSpace() != 0) copy->setSourceAlignment(llvm::Align(1));
            } else if (auto* set = llvm::dyn_cast<llvm::MemSetInst>(&instruction)) {
                if (set->getDestAddressSpace() != 0) set->setDestAlignment(llvm::Align(1));
            }
        }
    }
    return {};
}

}  // namespace ingot::metal::jit
