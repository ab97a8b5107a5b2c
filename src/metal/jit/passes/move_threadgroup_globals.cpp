// Threadgroup variables are globals in address space 3, one per module; here each threadgroup has its own
// arena, so they become offsets into ingot.arena(). Must precede every optimisation: an internal global whose
// address doesn't escape looks unchanged across a barrier call.
#include <map>

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/ReplaceConstant.h>

#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

llvm::Function* arena_function(llvm::Module& module) {
    auto* type =
        llvm::FunctionType::get(llvm::PointerType::get(module.getContext(), kThreadgroupSpace), false);
    auto* function = llvm::cast<llvm::Function>(module.getOrInsertFunction("ingot.arena", type).getCallee());
    function->setDoesNotAccessMemory();
    function->addFnAttr(llvm::Attribute::NoUnwind);
    function->addFnAttr(llvm::Attribute::WillReturn);
    return function;
}

}  // namespace

Result<void> move_threadgroup_globals(llvm::Module& module, PassState& state) {
    std::vector<llvm::GlobalVariable*> globals;
    for (llvm::GlobalVariable& global : module.globals()) {
        if (global.getAddressSpace() == kThreadgroupSpace) globals.push_back(&global);
    }
    if (globals.empty()) return {};
    llvm::Function* arena = arena_function(module);
    const llvm::DataLayout& layout = module.getDataLayout();
    std::vector<llvm::Constant*> constants(globals.begin(), globals.end());
    llvm::convertUsersOfConstantsToInstructions(constants);
    uint64_t offset = 0;
    for (llvm::GlobalVariable* global : globals) {
        const uint64_t align = global->getAlign().valueOrOne().value();
        offset = (offset + align - 1) / align * align;
        std::map<llvm::Function*, llvm::Value*> address;
        std::vector<llvm::Use*> uses;
        for (llvm::Use& use : global->uses()) uses.push_back(&use);
        for (llvm::Use* use : uses) {
            auto* user = llvm::dyn_cast<llvm::Instruction>(use->getUser());
            if (user == nullptr) continue;
            llvm::Value*& value = address[user->getFunction()];
            if (value == nullptr) {
                llvm::IRBuilder<> b(&*user->getFunction()->getEntryBlock().getFirstInsertionPt());
                value = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), b.CreateCall(arena), offset);
            }
            use->set(value);
        }
        offset += layout.getTypeAllocSize(global->getValueType());
        global->removeDeadConstantUsers();
        if (!global->use_empty()) {
            return fail(ErrorKind::kUnsupported, "threadgroup variable '{}' is used outside of functions",
                        global->getName().str());
        }
        global->eraseFromParent();
    }
    // More than a group may have still lowers: shipped libraries hold such kernels. Launching one is refused.
    if (offset > UINT32_MAX) return fail(ErrorKind::kLimit, "{} bytes of threadgroup variables", offset);
    state.info.static_threadgroup_bytes = uint32_t(offset);
    return {};
}

}  // namespace ingot::metal::jit
