#include "metal/jit/builtins/emitter.h"

#include "metal/jit/passes/block_order.h"

namespace ingot::metal::jit {

Emitter::Emitter(llvm::Function& function, PassState& state)
    : function_(function),
      state_(state),
      b_(llvm::BasicBlock::Create(function.getContext(), "", &function)) {}

void Emitter::finish(llvm::Value* result) {
    if (result == nullptr) {
        b_.CreateRetVoid();
    } else {
        b_.CreateRet(result);
    }
    function_.setLinkage(llvm::GlobalValue::InternalLinkage);
    function_.setSection("");
    function_.removeFnAttr(llvm::Attribute::NoInline);
}

llvm::CallInst* Emitter::call_collective(llvm::StringRef name, llvm::Type* result,
                                         llvm::ArrayRef<llvm::Value*> arguments) {
    state_.meets = true;
    llvm::CallInst* call = call_runtime(name, result, arguments);
    call->getCalledFunction()->addFnAttr(llvm::Attribute::Convergent);
    return call;
}

llvm::CallInst* Emitter::call_meeting(llvm::StringRef name, llvm::Type* result, llvm::Value* lane,
                                      llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Value*> all = {lane, u32(0)};
    all.append(arguments.begin(), arguments.end());
    llvm::CallInst* call = call_collective(name, result, all);
    call->getCalledFunction()->addFnAttr(kMeetingAttribute);
    return call;
}

llvm::CallInst* Emitter::call_runtime(llvm::StringRef name, llvm::Type* result,
                                      llvm::ArrayRef<llvm::Value*> arguments, bool pure) {
    llvm::SmallVector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    auto* function = llvm::cast<llvm::Function>(module().getOrInsertFunction(name, type).getCallee());
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::WillReturn);
    if (pure) function->setDoesNotAccessMemory();
    return b_.CreateCall(function, arguments);
}

llvm::Value* Emitter::index(std::string_view kind) {
    return call_runtime(fmt::format("ingot.index.{}.0", kind), b_.getInt32Ty(), {}, true);
}

llvm::Value* Emitter::elementwise(
    llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>, llvm::Type*)> one) {
    llvm::SmallVector<llvm::Value*> arguments;
    for (llvm::Argument& argument : function_.args()) arguments.push_back(&argument);
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(result_type());
    if (vector == nullptr) return one(arguments, result_type());
    llvm::Value* result = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
        llvm::SmallVector<llvm::Value*> elements;
        for (llvm::Value* argument : arguments) {
            elements.push_back(argument->getType()->isVectorTy() ? b_.CreateExtractElement(argument, i)
                                                                 : argument);
        }
        result = b_.CreateInsertElement(result, one(elements, vector->getElementType()), i);
    }
    return result;
}

llvm::Value* Emitter::to_bits(llvm::Value* value) {
    llvm::Type* type = value->getType();
    if (!type->isIntegerTy()) {
        value =
            b_.CreateBitCast(value, b_.getIntNTy(unsigned(type->getPrimitiveSizeInBits().getFixedValue())));
    }
    return b_.CreateZExt(value, b_.getInt64Ty());
}

llvm::Value* Emitter::from_bits(llvm::Value* bits, llvm::Type* type) {
    bits = b_.CreateTrunc(bits, b_.getIntNTy(unsigned(type->getPrimitiveSizeInBits().getFixedValue())));
    return type->isIntegerTy() ? bits : b_.CreateBitCast(bits, type);
}

void define_builtins(llvm::Module& module, PassState& state, llvm::ArrayRef<Family> families) {
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (!function.isDeclaration() || function.isIntrinsic()) continue;
        if (function.use_empty()) {
            function.eraseFromParent();
            continue;
        }
        llvm::StringRef name = function.getName();
        if (!name.starts_with("air.") && !name.starts_with("__tensorops_impl_")) continue;
        name.consume_front("air.");
        for (const Family family : families) {
            Emitter emit(function, state);
            llvm::Value* result = nullptr;
            if (family(emit, name, result)) {
                emit.finish(result);
                break;
            }
            emit.give_up();
        }
    }
}

}  // namespace ingot::metal::jit
