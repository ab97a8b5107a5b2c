// LLVM's -O2 for the host's CPU.
#include <llvm/Target/TargetMachine.h>

#include "metal/jit/analyses.h"
#include "metal/jit/host_target.h"
#include "metal/jit/passes/passes.h"

namespace ingot::metal::jit {

Result<void> optimise(llvm::Module& module, PassState&) {
    Analyses analyses(&host_target());
    analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, analyses.modules);
    return {};
}

}  // namespace ingot::metal::jit
