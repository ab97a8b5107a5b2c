#include "metal/jit/passes/reuse_loads.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace ingot::metal::jit {
namespace {

// Elements of one type in a row behind `base`.
struct Read {
    const llvm::Value* base;
    int64_t first, count;  // in elements
    llvm::Type* element;
    llvm::LoadInst* load;
};

bool describe(llvm::LoadInst& load, Read& read) {
    llvm::Type* type = load.getType();
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    llvm::Type* element = type->getScalarType();
    if (!load.isSimple() || (vector == nullptr && !type->isSingleValueType())) return false;
    const llvm::DataLayout& layout = load.getModule()->getDataLayout();
    const auto size = int64_t(layout.getTypeStoreSize(element).getFixedValue());
    if (layout.getTypeSizeInBits(element).getFixedValue() != uint64_t(8 * size)) return false;
    llvm::APInt offset(layout.getIndexTypeSizeInBits(load.getPointerOperandType()), 0);
    const llvm::Value* base = load.getPointerOperand()->stripAndAccumulateConstantOffsets(
        layout, offset, /*AllowNonInbounds=*/true);
    if (offset.getSExtValue() % size != 0) return false;
    read = {base, offset.getSExtValue() / size, vector != nullptr ? int64_t(vector->getNumElements()) : 1,
            element, &load};
    return true;
}

llvm::Value* part_of(const Read& whole, const Read& part) {
    llvm::IRBuilder<> b(part.load);
    const int64_t from = part.first - whole.first;
    if (!part.load->getType()->isVectorTy()) return b.CreateExtractElement(whole.load, uint64_t(from));
    llvm::SmallVector<int> elements;
    for (int64_t i = 0; i < part.count; ++i) elements.push_back(int(from + i));
    return b.CreateShuffleVector(whole.load, elements);
}

}  // namespace

void reuse_loads(llvm::Function& function) {
    constexpr size_t kMost = 32;  // loads that are remembered
    for (llvm::BasicBlock& block : function) {
        llvm::SmallVector<Read, kMost> known;
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            if (instruction.mayWriteToMemory()) known.clear();
            auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
            Read read{};
            if (load == nullptr || !describe(*load, read)) continue;
            const auto* whole = llvm::find_if(known, [&](const Read& k) {
                return k.base == read.base && k.element == read.element && k.load->getType()->isVectorTy() &&
                       k.first <= read.first && read.first + read.count <= k.first + k.count;
            });
            if (whole != known.end()) {
                load->replaceAllUsesWith(part_of(*whole, read));
                load->eraseFromParent();
            } else if (known.size() < kMost) {
                known.push_back(read);
            }
        }
    }
}

}  // namespace ingot::metal::jit
