// One function in the end: MSL forbids recursion, so every helper can be inlined into the entry. Executors
// then rewrite a single body, and the running thread's record is the entry's only argument.
#include <map>

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/jit/passes/inlining.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {

namespace {

// A crafted chain of helpers that call the next one twice would double per level.
constexpr size_t kMaxInstructions = size_t{4} << 20;

// Calls of defined functions in `function`.
std::vector<llvm::CallInst*> defined_calls(llvm::Function& function) {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr) continue;
        const llvm::Function* callee = call->getCalledFunction();
        if (callee != nullptr && !callee->isDeclaration()) calls.push_back(call);
    }
    return calls;
}

enum class Mark : uint8_t { kNew, kOpen, kDone };

Result<void> refuse_recursion(llvm::Function& function, std::map<llvm::Function*, Mark>& marks) {
    marks[&function] = Mark::kOpen;
    for (llvm::CallInst* call : defined_calls(function)) {
        llvm::Function* callee = call->getCalledFunction();
        if (marks[callee] == Mark::kOpen) {
            return fail(ErrorKind::kUnsupported, "'{}' calls itself; Metal has no recursion",
                        callee->getName().str());
        }
        if (marks[callee] == Mark::kNew) INGOT_TRY(refuse_recursion(*callee, marks));
    }
    marks[&function] = Mark::kDone;
    return {};
}

}  // namespace

Result<void> inline_into_entry(llvm::Module& module) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr)
        return fail(ErrorKind::kInvalidArgument, "the module has no function '{}'", kEntryName);
    std::map<llvm::Function*, Mark> marks;
    INGOT_TRY(refuse_recursion(*entry, marks));
    for (auto calls = defined_calls(*entry); !calls.empty(); calls = defined_calls(*entry)) {
        for (llvm::CallInst* call : calls) {
            const std::string name = call->getCalledFunction()->getName().str();
            llvm::InlineFunctionInfo info;
            if (const llvm::InlineResult done = llvm::InlineFunction(*call, info); !done.isSuccess()) {
                return fail(ErrorKind::kUnsupported, "'{}' can't be inlined: {}", name,
                            done.getFailureReason());
            }
        }
        if (entry->getInstructionCount() > kMaxInstructions) {
            return fail(ErrorKind::kLimit, "more than {} instructions after inlining", kMaxInstructions);
        }
    }
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        if (&function == entry || function.isDeclaration()) continue;
        function.replaceAllUsesWith(llvm::PoisonValue::get(function.getType()));
        function.eraseFromParent();
    }
    return {};
}

Result<void> inline_all(llvm::Module& module, PassState&) {
    return inline_into_entry(module);
}

}  // namespace ingot::metal::jit
