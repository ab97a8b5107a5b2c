// Matrix products: calls of the runtime on matrices in memory (8x8: exec/lanes/matrix.h, Metal 4's in NAX
// fragments: exec/lanes/fragments.h). Operands are stored once a block; a product that only feeds the next
// one never becomes vectors. Other products of Metal 4 and reductions of their results: a call of the runtime
// with every lane's operands.
#include "metal/exec/fibers/cooperative_layout.h"
#include "metal/jit/accumulators.h"
#include "metal/jit/context_builder.h"
#include "metal/jit/lanes/vectoriser.h"

namespace ingot::metal::jit::lanes {

// Their phis lie outside of masks, where no lane keeps an old value.
void Vectoriser::find_residents() {
    for (const llvm::Function& function : *target_.getParent()) {
        if (!is_matrix_product(function)) continue;
        for (const llvm::Loop* loop : regions_.loops().getLoopsInPreorder()) {
            if (regions_.is_masked(loop->getHeader())) continue;
            for (const AccumulatorChain& chain : find_accumulators(*loop, function, regions_.loops())) {
                llvm::AllocaInst* place = new_matrix(*chain.phi);
                residents_[chain.phi] = place;
                for (llvm::CallInst* product : chain.products) residents_[product] = place;
            }
        }
    }
}

// Where a matrix of this block lies in memory. Idle lanes' elements are zeros.
llvm::Value* Vectoriser::matrix_in_memory(llvm::Value* matrix) {
    if (const auto resident = residents_.find(matrix); resident != residents_.end()) return resident->second;
    llvm::Value*& place = matrices_[matrix];
    if (place != nullptr) return place;
    place = new_matrix(*matrix);
    const Parts parts = vectors(matrix);
    for (uint64_t i = 0; i < parts.size(); ++i) {
        llvm::Type* type = parts[i]->getType();
        llvm::Value* part = LaneBuilder::is_all_lanes(mask_)
                                ? parts[i]
                                : b().CreateSelect(mask_, parts[i], llvm::Constant::getNullValue(type));
        b().CreateStore(part, b().CreateConstGEP1_64(type, place, i));
    }
    return place;
}

llvm::AllocaInst* Vectoriser::new_matrix(const llvm::Value& matrix) {
    const unsigned elements = llvm::cast<llvm::FixedVectorType>(matrix.getType())->getNumElements();
    llvm::AllocaInst* place = lanes_.slot(llvm::ArrayType::get(lanes_.wide(b().getFloatTy()), elements));
    place->setAlignment(llvm::Align(128));
    return place;
}

// Calls `runtime`(after, left, right, before, numbers...) and gives what is in `after`.
Parts Vectoriser::multiply_in_memory(llvm::CallInst& call, const char* runtime,
                                     llvm::ArrayRef<uint32_t> numbers) {
    llvm::Value *left = matrix_in_memory(call.getArgOperand(0)),
                *right = matrix_in_memory(call.getArgOperand(1)),
                *before = matrix_in_memory(call.getArgOperand(2));
    const bool stays = residents_.contains(&call);
    llvm::Value* after = stays ? before : new_matrix(call);
    llvm::SmallVector<llvm::Value*, 8> arguments{after, left, right, before};
    llvm::SmallVector<llvm::Type*, 8> types(4, b().getPtrTy());
    for (const uint32_t number : numbers) {
        arguments.push_back(b().getInt32(number));
        types.push_back(b().getInt32Ty());
    }
    auto* type = llvm::FunctionType::get(b().getVoidTy(), types, false);
    auto* multiply =
        llvm::cast<llvm::Function>(target_.getParent()->getOrInsertFunction(runtime, type).getCallee());
    multiply->setOnlyAccessesArgMemory();
    multiply->setDoesNotThrow();
    multiply->addFnAttr(llvm::Attribute::WillReturn);
    for (unsigned i = 0; i < 4; ++i) {
        multiply->addParamAttr(i, llvm::Attribute::NoCapture);
        if (i == 1 || i == 2) multiply->addParamAttr(i, llvm::Attribute::ReadOnly);
    }
    b().CreateCall(multiply, arguments);
    if (stays) return {};
    matrices_[&call] = after;
    return load_matrix(call, after);
}

Parts Vectoriser::load_matrix(const llvm::Value& matrix, llvm::Value* place) {
    llvm::Type* part = lanes_.wide(b().getFloatTy());
    const unsigned elements = llvm::cast<llvm::FixedVectorType>(matrix.getType())->getNumElements();
    Parts parts;
    for (unsigned i = 0; i < elements; ++i)
        parts.push_back(b().CreateLoad(part, b().CreateConstGEP1_64(part, place, i)));
    return parts;
}

// ingot.mma, or ingot.fragments.M.N.K.TRANSPOSED (passes/tensors_in_registers.cpp).
Parts Vectoriser::emit_matrix_product(llvm::CallInst& call) {
    llvm::StringRef name = call.getCalledFunction()->getName();
    if (!name.consume_front(kFragmentProduct)) return multiply_in_memory(call, "ingot_lanes_multiply", {});
    llvm::SmallVector<uint32_t, 4> numbers;
    llvm::SmallVector<llvm::StringRef, 4> texts;
    name.split(texts, '.');
    for (const llvm::StringRef text : texts) {
        unsigned number = 0;
        if (text.getAsInteger(10, number)) refuse(fmt::format("a product of '{}'", name.str()));
        numbers.push_back(numbers.size() < 3 ? number / unsigned(fibers::kFragment) : number);
    }
    return multiply_in_memory(call, "ingot_lanes_multiply_fragments", numbers);
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
