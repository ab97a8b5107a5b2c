#include "metal/jit/convergence.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace ingot::metal::jit {

void mark_convergent(llvm::Module& module) {
    llvm::SmallVector<llvm::Function*> to_visit;
    for (llvm::Function& function : module) {
        if (function.isConvergent()) to_visit.push_back(&function);
    }
    while (!to_visit.empty()) {
        for (llvm::User* user : to_visit.pop_back_val()->users()) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(user);
            if (call == nullptr) continue;
            call->setConvergent();
            llvm::Function& caller = *call->getFunction();
            if (caller.isConvergent()) continue;
            caller.setConvergent();
            to_visit.push_back(&caller);
        }
    }
}

}  // namespace ingot::metal::jit
