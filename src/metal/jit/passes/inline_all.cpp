// One function in the end, nearly: every helper is inlined into the entry, so that executors rewrite a single
// body. MSL forbids recursion but Apple's compiler lets it pass (PyTorch's Bessel and gamma kernels), so
// functions that call themselves stay functions, with all that they call.
#include <set>

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
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

using Functions = std::set<const llvm::Function*>;

// Calls in `function` of defined functions other than `stay`.
std::vector<llvm::CallInst*> defined_calls(llvm::Function& function, const Functions& stay) {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr) continue;
        const llvm::Function* callee = call->getCalledFunction();
        if (callee != nullptr && !callee->isDeclaration() && !stay.contains(callee)) calls.push_back(call);
    }
    return calls;
}

void add_with_callees(const llvm::CallGraphNode& node, Functions& found) {
    const llvm::Function* function = node.getFunction();
    if (function == nullptr || function->isDeclaration() || !found.insert(function).second) return;
    for (const auto& call : node) add_with_callees(*call.second, found);
}

// What calls itself, directly or through others, and what that calls.
Functions recursive_functions(llvm::Module& module) {
    llvm::CallGraph graph(module);
    Functions found;
    for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
        if (!component.hasCycle()) continue;
        for (const llvm::CallGraphNode* node : *component) add_with_callees(*node, found);
    }
    return found;
}

}  // namespace

Result<void> inline_into_entry(llvm::Module& module) {
    llvm::Function* entry = module.getFunction(kEntryName);
    if (entry == nullptr)
        return fail(ErrorKind::kInvalidArgument, "the module has no function '{}'", kEntryName);
    const Functions stay = recursive_functions(module);
    if (stay.contains(entry)) return fail(ErrorKind::kUnsupported, "the kernel calls itself");
    for (auto calls = defined_calls(*entry, stay); !calls.empty(); calls = defined_calls(*entry, stay)) {
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
        if (&function == entry || function.isDeclaration() || stay.contains(&function)) continue;
        function.replaceAllUsesWith(llvm::PoisonValue::get(function.getType()));
        function.eraseFromParent();
    }
    return {};
}

Result<void> inline_all(llvm::Module& module, PassState&) {
    return inline_into_entry(module);
}

}  // namespace ingot::metal::jit
