// Matrix products. Those of Metal 4 and reductions of their results: a call of the runtime with every lane's
// operands. 8x8 ones: a call of the runtime on matrices in memory (exec/lanes/matrix.h). Operands are stored
// once a block; a product that only feeds the next one never becomes a vector.
#include "metal/jit/accumulators.h"
#include "metal/jit/context_builder.h"
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {

// Their phis lie outside of masks, where no lane keeps an old value.
void Vectoriser::find_residents() {
    const llvm::Function* mma = target_.getParent()->getFunction("ingot.mma");
    if (mma == nullptr) return;
    for (const llvm::Loop* loop : regions_.loops().getLoopsInPreorder()) {
        if (regions_.is_masked(loop->getHeader())) continue;
        for (const AccumulatorChain& chain : find_accumulators(*loop, *mma, regions_.loops())) {
            llvm::AllocaInst* place = new_matrix();
            residents_[chain.phi] = place;
            for (llvm::CallInst* product : chain.products) residents_[product] = place;
        }
    }
}

// Where a matrix of this block lies in memory.
llvm::Value* Vectoriser::matrix_in_memory(llvm::Value* matrix) {
    if (const auto resident = residents_.find(matrix); resident != residents_.end()) return resident->second;
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
    place->setAlignment(llvm::Align(128));
    return place;
}

Parts Vectoriser::emit_matrix_product(llvm::CallInst& call) {
    llvm::Value *left = matrix_in_memory(call.getArgOperand(0)),
                *right = matrix_in_memory(call.getArgOperand(1)),
                *before = matrix_in_memory(call.getArgOperand(2));
    const bool stays = residents_.contains(&call);
    llvm::Value* after = stays ? before : new_matrix();
    llvm::Type* pointer = b().getPtrTy();
    auto* type = llvm::FunctionType::get(b().getVoidTy(), {pointer, pointer, pointer, pointer}, false);
    auto* multiply = llvm::cast<llvm::Function>(
        target_.getParent()->getOrInsertFunction("ingot_lanes_multiply", type).getCallee());
    multiply->setOnlyAccessesArgMemory();
    multiply->setDoesNotThrow();
    multiply->addFnAttr(llvm::Attribute::WillReturn);
    for (unsigned i = 0; i < 4; ++i) {
        multiply->addParamAttr(i, llvm::Attribute::NoCapture);
        if (i == 1 || i == 2) multiply->addParamAttr(i, llvm::Attribute::ReadOnly);
    }
    b().CreateCall(multiply, {after, left, right, before});
    if (stays) return {};
    matrices_[&call] = after;
    llvm::Type* part = lanes_.wide(b().getFloatTy());
    return {b().CreateLoad(part, after), b().CreateLoad(part, b().CreateConstGEP1_64(part, after, 1))};
}

// Every lane's pointer, in memory.
llvm::Value* Vectoriser::by_lane(llvm::Value* pointer) {
    llvm::Value* pointers = vector(pointer);
    llvm::AllocaInst* place = lanes_.slot(pointers->getType());
    b().CreateStore(pointers, place);
    return place;
}

// ingot_matmul2d(lane, site, descriptor, {operand, code} x 3, threads, layout) and
// ingot_cooperative_reduce(lane, site, from, to, numbers...). Lanes of vectors need no site: they meet as
// one.
Parts Vectoriser::emit_tensor_collective(llvm::CallInst& call) {
    llvm::SmallVector<llvm::Value*, 12> arguments{lanes_.bits(mask_)};
    const bool is_product = call.getCalledFunction()->getName() == "ingot_matmul2d";
    if (is_product) {
        arguments.push_back(context_->index(ArgumentKind::kSimdgroupIndexInThreadgroup, 0));
        arguments.push_back(agreed(call.getArgOperand(2)));
    }
    for (unsigned i = is_product ? 3 : 2; i < call.arg_size(); ++i) {
        llvm::Value* argument = call.getArgOperand(i);
        arguments.push_back(argument->getType()->isPointerTy() ? by_lane(argument) : agreed(argument));
    }
    llvm::SmallVector<llvm::Type*, 12> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    const auto function = target_.getParent()->getOrInsertFunction(
        is_product ? "ingot_lanes_matmul2d" : "ingot_lanes_cooperative_reduce",
        llvm::FunctionType::get(b().getVoidTy(), types, false));
    b().CreateCall(function, arguments);
    return {};
}

}  // namespace ingot::metal::jit::lanes
