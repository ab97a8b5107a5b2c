// Adds the function the executor calls: it takes no arguments, asks for each of the kernel's by ingot.* calls
// (pass.h) as the AIR metadata says, and calls the kernel.
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>

#include "metal/jit/metadata.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

class EntryBuilder {
  public:
    EntryBuilder(llvm::Module& module, llvm::Function& entry)
        : module_(module), b_(llvm::BasicBlock::Create(module.getContext(), "", &entry)) {}

    llvm::Value* argument(const Argument& argument, llvm::Type* type);
    void finish(llvm::Function& kernel, const std::vector<llvm::Value*>& arguments) {
        b_.CreateCall(&kernel, arguments);
        b_.CreateRetVoid();
    }

  private:
    llvm::Function* context_function(const std::string& name, llvm::Type* result,
                                     llvm::ArrayRef<llvm::Type*> types) {
        auto* type = llvm::FunctionType::get(result, types, false);
        auto* function = llvm::cast<llvm::Function>(module_.getOrInsertFunction(name, type).getCallee());
        function->setDoesNotAccessMemory();
        function->addFnAttr(llvm::Attribute::NoUnwind);
        function->addFnAttr(llvm::Attribute::WillReturn);
        return function;
    }

    llvm::Value* index(ArgumentKind kind, unsigned component, llvm::Type* type) {
        const std::string name = fmt::format("ingot.index.{}.{}", to_string(kind), component);
        return b_.CreateZExtOrTrunc(b_.CreateCall(context_function(name, b_.getInt32Ty(), {})), type);
    }

    llvm::Module& module_;
    llvm::IRBuilder<> b_;
};

llvm::Value* EntryBuilder::argument(const Argument& argument, llvm::Type* type) {
    if (argument.kind == ArgumentKind::kThreadgroup) {
        if (!type->isPointerTy()) return nullptr;
        auto* function =
            context_function("ingot.threadgroup", b_.getPtrTy(kThreadgroupSpace), {b_.getInt32Ty()});
        return b_.CreateCall(function, {b_.getInt32(argument.slot)});
    }
    if (is_buffer(argument)) {
        if (!type->isPointerTy()) return nullptr;
        auto* function = context_function("ingot.buffer", b_.getPtrTy(), {b_.getInt32Ty()});
        llvm::Value* address = b_.CreateCall(function, {b_.getInt32(argument.slot)});
        return b_.CreateAddrSpaceCast(address, type);
    }
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    if (vector == nullptr) return type->isIntegerTy() ? index(argument.kind, 0, type) : nullptr;
    if (!vector->getElementType()->isIntegerTy() || vector->getNumElements() > 3) return nullptr;
    llvm::Value* result = llvm::PoisonValue::get(vector);
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
        result = b_.CreateInsertElement(result, index(argument.kind, i, vector->getElementType()), i);
    }
    return result;
}

}  // namespace

Result<void> make_entry(llvm::Module& module, PassState& state) {
    INGOT_ASSIGN(KernelMetadata kernel, read_kernel_metadata(module));
    const uint32_t threadgroup_bytes = state.info.static_threadgroup_bytes;
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false);
    auto* entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kEntryName, module);
    entry->addFnAttr(llvm::Attribute::NoUnwind);
    EntryBuilder builder(module, *entry);
    std::vector<llvm::Value*> arguments(kernel.function->arg_size());
    for (const Argument& argument : kernel.info.arguments) {
        const uint32_t slots =
            argument.kind == ArgumentKind::kThreadgroup ? kNumThreadgroupSlots : kNumBufferSlots;
        if (argument.slot >= slots) {
            return fail(ErrorKind::kUnsupported, "argument '{}' is in slot {}, the last is {}", argument.name,
                        argument.slot, slots - 1);
        }
        llvm::Type* parameter = kernel.function->getArg(argument.position)->getType();
        llvm::Value* value = builder.argument(argument, parameter);
        if (value == nullptr) {
            return fail(ErrorKind::kCorrupt, "argument {} ('{}'): a {} can't have its parameter's type",
                        argument.position, argument.name, to_string(argument.kind));
        }
        arguments[argument.position] = value;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == nullptr) return fail(ErrorKind::kCorrupt, "parameter {} has no metadata", i);
    }
    builder.finish(*kernel.function, arguments);
    kernel.function->setLinkage(llvm::GlobalValue::InternalLinkage);
    if (llvm::NamedMDNode* node = module.getNamedMetadata("air.kernel")) node->eraseFromParent();
    state.info = std::move(kernel.info);
    state.info.static_threadgroup_bytes = threadgroup_bytes;
    return {};
}

}  // namespace ingot::metal::jit
