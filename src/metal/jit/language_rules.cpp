#include "metal/jit/language_rules.h"

#include <llvm/ADT/SCCIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "metal/jit/pass.h"

namespace ingot::metal::jit {
namespace {

std::string place_of(llvm::StringRef file, unsigned line) {
    return line == 0 ? "" : fmt::format("{}:{}: ", file.str(), line);
}

// What uses a variable, through constant expressions and other variables' initial values.
std::vector<const llvm::Instruction*> uses_of(const llvm::GlobalVariable& variable) {
    std::vector<const llvm::Instruction*> uses;
    llvm::SmallVector<const llvm::User*> waiting(variable.users());
    llvm::SmallPtrSet<const llvm::User*, 16> seen;
    while (!waiting.empty()) {
        const llvm::User* user = waiting.pop_back_val();
        if (!seen.insert(user).second) continue;
        if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user)) {
            uses.push_back(instruction);
        } else {
            waiting.append(user->user_begin(), user->user_end());
        }
    }
    return uses;
}

// The program's start, before any kernel.
bool is_initialiser(const llvm::Function& function) {
    return function.getName().starts_with("__cxx_global_var_init") ||
           function.getName().starts_with("_GLOBAL__sub_I");
}

bool is_written_by_threads(const llvm::GlobalVariable& variable) {
    llvm::SmallVector<const llvm::Value*> waiting{&variable};
    llvm::SmallPtrSet<const llvm::Value*, 16> seen;
    while (!waiting.empty()) {
        const llvm::Value* pointer = waiting.pop_back_val();
        if (!pointer->getType()->isPointerTy() || !seen.insert(pointer).second) continue;
        for (const llvm::User* user : pointer->users()) {
            const auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
            if (instruction != nullptr && is_initialiser(*instruction->getFunction())) continue;
            const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
            if (store != nullptr && store->getPointerOperand() == pointer) return true;
            if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(user)) return true;
            const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(user);
            if (memory != nullptr && memory->getRawDest() == pointer) return true;
            waiting.push_back(user);
        }
    }
    return false;
}

// "program_source:7: " of the first line that uses it.
std::string first_use(const std::vector<const llvm::Instruction*>& uses) {
    const llvm::DILocation* first = nullptr;
    for (const llvm::Instruction* use : uses) {
        const llvm::DILocation* location = use->getDebugLoc().get();
        if (location == nullptr || location->getLine() == 0) continue;
        if (first == nullptr || location->getLine() < first->getLine()) first = location;
    }
    return first == nullptr ? "" : place_of(first->getFilename(), first->getLine());
}

// "guard variable for f()::x" is the mark that a static variable has its value.
std::string variable_name(const llvm::GlobalVariable& variable) {
    llvm::StringRef name = variable.getName();
    std::string readable = llvm::demangle(name);
    constexpr std::string_view kGuard = "guard variable for ";
    return readable.starts_with(kGuard) ? readable.substr(kGuard.size()) : readable;
}

}  // namespace

Result<void> refuse_program_variables(llvm::Module& module, ProgramVariables which) {
    for (const llvm::GlobalVariable& variable : module.globals()) {
        if (variable.isConstant() || variable.isDeclaration() || variable.getAddressSpace() != 0) continue;
        if (variable.getName().starts_with("llvm.")) continue;
        const std::vector<const llvm::Instruction*> uses = uses_of(variable);
        const bool has_initialiser = llvm::any_of(
            uses, [](const llvm::Instruction* use) { return is_initialiser(*use->getFunction()); });
        if (which == ProgramVariables::kDeclared ? has_initialiser : !is_written_by_threads(variable))
            continue;
        return fail(
            ErrorKind::kCorrupt,
            "{}error: '{}' is no constant: program scope and static variables must reside in constant "
            "address space",
            first_use(uses), variable_name(variable));
    }
    return {};
}

Result<void> refuse_recursion(llvm::Module& module) {
    llvm::CallGraph graph(module);
    for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
        const llvm::Function* function = (*component)[0]->getFunction();
        if (!component.hasCycle() || function == nullptr) continue;
        const llvm::DISubprogram* debug = function->getSubprogram();
        return fail(ErrorKind::kUnsupported, "{}error: '{}' calls itself; Metal has no recursion",
                    debug == nullptr ? "" : place_of(debug->getFilename(), debug->getLine()),
                    llvm::demangle(function->getName()));
    }
    return {};
}

bool take_strict_mark(llvm::Module& module) {
    llvm::GlobalVariable* mark = module.getGlobalVariable("ingot_strict", true);
    if (mark == nullptr) return false;
    if (mark->use_empty()) mark->eraseFromParent();
    return true;
}

}  // namespace ingot::metal::jit
