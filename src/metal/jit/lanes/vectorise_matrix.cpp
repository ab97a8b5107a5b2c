// 8x8 matrix products: a call of the runtime on matrices in memory (exec/lanes/matrix.h). Operands are stored
// once a block; a product that only feeds the next one never becomes a vector.
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {

// Where a matrix of this block lies in memory.
llvm::Value* Vectoriser::matrix_in_memory(llvm::Value* matrix) {
    llvm::Value*& place = matrices_[matrix];
    if (place != nullptr) return place;
    place = new_matrix();
    const Parts parts = vectors(matrix);
    for (uint64_t i = 0; i < 2; ++i) {
        b().CreateStore(parts[i], b().CreateConstGEP1_64(parts[i]->getType(), place, i));
    }
    return place;
}

llvm::AllocaInst* Vectoriser::new_matrix() {
    llvm::AllocaInst* place = lanes_.slot(llvm::ArrayType::get(lanes_.wide(b().getFloatTy()), 2));
    place->setAlignment(llvm::Align(64));
    return place;
}

Parts Vectoriser::emit_matrix_product(llvm::CallInst& call) {
    llvm::Value *left = matrix_in_memory(call.getArgOperand(0)),
                *right = matrix_in_memory(call.getArgOperand(1)),
                *before = matrix_in_memory(call.getArgOperand(2)), *after = new_matrix();
    llvm::Type* pointer = b().getPtrTy();
    auto* type = llvm::FunctionType::get(b().getVoidTy(), {pointer, pointer, pointer, pointer}, false);
    auto* multiply = llvm::cast<llvm::Function>(
        target_.getParent()->getOrInsertFunction("ingot_lanes_multiply", type).getCallee());
    multiply->setOnlyAccessesArgMemory();
    multiply->setDoesNotThrow();
    multiply->addFnAttr(llvm::Attribute::WillReturn);
    for (unsigned i = 0; i < 4; ++i) {
        multiply->addParamAttr(i, llvm::Attribute::NoCapture);
        multiply->addParamAttr(i, i == 0 ? llvm::Attribute::WriteOnly : llvm::Attribute::ReadOnly);
    }
    b().CreateCall(multiply, {after, left, right, before});
    matrices_[&call] = after;
    llvm::Type* part = lanes_.wide(b().getFloatTy());
    return {b().CreateLoad(part, after), b().CreateLoad(part, b().CreateConstGEP1_64(part, after, 1))};
}

}  // namespace ingot::metal::jit::lanes
