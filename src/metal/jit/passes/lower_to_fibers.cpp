// Chooses the fibers executor: the entry takes the running thread's record (fibers/lane.h), context calls
// become loads from it, collectives become calls of the fiber runtime, numbered in the order in which lanes
// get to them. After this pass an unknown function is an error.
#include <map>
#include <set>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/jit/builtins/emitter.h"
#include "metal/jit/context_builder.h"
#include "metal/jit/passes/block_order.h"
#include "metal/jit/passes/inlining.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {
namespace {

// Replaces the context calls of one function, whose first argument is the lane.
Result<void> replace_context_calls(llvm::Function& function) {
    ContextBuilder context(function, function.getArg(0));
    std::map<llvm::Function*, llvm::Value*> cached;  // calls without arguments
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
        if (callee == nullptr || !callee->getName().starts_with("ingot.") || callee->getName() == "ingot.mma")
            continue;
        llvm::Value*& known = cached[callee];
        if (known == nullptr || call->arg_size() != 0) known = context.value(callee->getName(), *call);
        if (known == nullptr) {
            return fail(ErrorKind::kUnsupported, "'{}' is unknown to the fibers executor",
                        callee->getName().str());
        }
        call->replaceAllUsesWith(known);
        call->eraseFromParent();
    }
    return {};
}

// `old` with the lane as first argument.
llvm::Function* add_lane_argument(llvm::Module& module, llvm::Function& old) {
    llvm::SmallVector<llvm::Type*> parameters = {llvm::PointerType::getUnqual(module.getContext())};
    llvm::append_range(parameters, old.getFunctionType()->params());
    auto* type = llvm::FunctionType::get(old.getReturnType(), parameters, false);
    // External: the optimiser would drop an argument that an internal function doesn't use.
    auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", module);
    function->takeName(&old);
    // Attributes of parameters would move by one; nothing needs them.
    function->addFnAttrs(llvm::AttrBuilder(module.getContext(), old.getAttributes().getFnAttrs()));
    function->splice(function->begin(), &old);
    for (llvm::Argument& argument : old.args()) {
        argument.replaceAllUsesWith(function->getArg(argument.getArgNo() + 1));
    }
    function->addParamAttr(0, llvm::Attribute::NoAlias);
    function->addParamAttr(0, llvm::Attribute::NonNull);
    return function;
}

// Functions that stayed because they call themselves: each call passes its caller's lane on.
void pass_lane_on(llvm::Function& old, llvm::Function& function) {
    for (llvm::User* user : llvm::make_early_inc_range(old.users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        llvm::SmallVector<llvm::Value*> arguments = {call->getFunction()->getArg(0)};
        llvm::append_range(arguments, call->args());
        auto* changed = llvm::CallInst::Create(&function, arguments, "", call->getIterator());
        call->replaceAllUsesWith(changed);
        call->eraseFromParent();
    }
}

Result<void> add_lane(llvm::Module& module) {
    std::vector<std::pair<llvm::Function*, llvm::Function*>> changed;
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (!function.isDeclaration()) changed.emplace_back(&function, nullptr);
    }
    for (auto& [old, function] : changed) function = add_lane_argument(module, *old);
    for (auto& [old, function] : changed) pass_lane_on(*old, *function);
    for (auto& [old, function] : changed) {
        old->eraseFromParent();
        INGOT_TRY(replace_context_calls(*function));
    }
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (function.getName().starts_with("ingot.") && function.use_empty()) function.eraseFromParent();
    }
    return {};
}

Result<void> refuse_unknown(const llvm::Module& module) {
    std::set<std::string> unknown;
    for (const llvm::Function& function : module) {
        const llvm::StringRef name = function.getName();
        if (!function.isDeclaration() || function.use_empty()) continue;
        if (name.starts_with("air.") || name.starts_with("__tensorops_impl_")) unknown.insert(name.str());
    }
    if (unknown.empty()) return {};
    return fail(ErrorKind::kUnsupported, "it calls '{}', which this device doesn't serve",
                fmt::join(unknown, "', '"));
}

}  // namespace

Result<void> lower_to_fibers(llvm::Module& module, PassState& state) {
    constexpr Family kFamilies[] = {lower_barrier, lower_simd};
    define_builtins(module, state, kFamilies);
    INGOT_TRY(refuse_unknown(module));
    INGOT_TRY(inline_into_entry(module));
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) number_meetings(function);
    }
    return add_lane(module);
}

}  // namespace ingot::metal::jit
