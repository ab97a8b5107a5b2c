// Threadgroup variables are globals in address space 3, one per module; here each threadgroup has its own
// arena, so they become offsets into ingot.arena(). Must precede every optimisation: an internal global whose
// address doesn't escape looks unchanged across a barrier call.
#include <algorithm>
#include <map>

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/ReplaceConstant.h>

#include "metal/jit/passes/memory_objects.h"
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

// Where a variable begins that is placed at or after `offset`.
uint64_t begin_of(const llvm::GlobalVariable& global, uint64_t offset) {
    return llvm::alignTo(offset, global.getAlign().valueOrOne());
}

uint64_t size_of(const llvm::GlobalVariable& global) {
    return global.getParent()->getDataLayout().getTypeAllocSize(global.getValueType());
}

// "_ZZ3sumPfE29ingot_threadgroup_0_partial" -> "partial"; the front end named it so (msl/passes).
std::string source_name(llvm::StringRef mangled) {
    const std::string full = llvm::demangle(mangled);
    llvm::StringRef name = full;
    if (const size_t scope = name.rfind("::"); scope != llvm::StringRef::npos) name = name.substr(scope + 2);
    if (name.consume_front("ingot_threadgroup_")) name = name.split('_').second;
    return name.str();
}

// Names a variable for those who watch (instrument.cpp).
llvm::MDNode* add_variable(const llvm::GlobalVariable& global, uint64_t offset, PassState& state) {
    MemoryObject object;
    object.kind = ObjectKind::kThreadgroupVariable;
    object.space = MemorySpace::kThreadgroup;
    object.offset_bytes = offset;
    object.size_bytes = size_of(global);
    object.name = source_name(global.getName());
    state.threadgroup_variables.push_back(object);
    llvm::Type* type = llvm::Type::getInt32Ty(global.getContext());
    auto* index = llvm::ConstantInt::get(type, state.threadgroup_variables.size() - 1);
    return llvm::MDNode::get(global.getContext(), {llvm::ConstantAsMetadata::get(index)});
}

}  // namespace

uint32_t threadgroup_bytes(const llvm::Module& module) {
    uint64_t bytes = 0;
    for (const llvm::GlobalVariable& global : module.globals()) {
        if (global.getAddressSpace() == kThreadgroupSpace) bytes = begin_of(global, bytes) + size_of(global);
    }
    return uint32_t(std::min<uint64_t>(bytes, UINT32_MAX));
}

Result<void> move_threadgroup_globals(llvm::Module& module, PassState& state) {
    std::vector<llvm::GlobalVariable*> globals;
    for (llvm::GlobalVariable& global : module.globals()) {
        if (global.getAddressSpace() == kThreadgroupSpace) globals.push_back(&global);
    }
    if (globals.empty()) return {};
    llvm::Function* arena = arena_function(module);
    std::vector<llvm::Constant*> constants(globals.begin(), globals.end());
    llvm::convertUsersOfConstantsToInstructions(constants);
    uint64_t offset = 0;
    for (llvm::GlobalVariable* global : globals) {
        offset = begin_of(*global, offset);
        llvm::MDNode* mark = add_variable(*global, offset, state);
        std::map<llvm::Function*, llvm::Value*> address;
        std::vector<llvm::Use*> uses;
        for (llvm::Use& use : global->uses()) uses.push_back(&use);
        for (llvm::Use* use : uses) {
            auto* user = llvm::dyn_cast<llvm::Instruction>(use->getUser());
            if (user == nullptr) continue;
            llvm::Value*& value = address[user->getFunction()];
            if (value == nullptr) {
                llvm::IRBuilder<> b(&*user->getFunction()->getEntryBlock().getFirstInsertionPt());
                // Calls keep marks, where inlining would fold an address without an offset.
                llvm::CallInst* begin = b.CreateCall(arena);
                begin->setMetadata(kThreadgroupVariable, mark);
                value = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), begin, offset);
            }
            use->set(value);
        }
        offset += size_of(*global);
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
