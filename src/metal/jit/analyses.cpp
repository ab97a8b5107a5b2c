#include "metal/jit/analyses.h"

namespace ingot::metal::jit {

Analyses::Analyses(llvm::TargetMachine* target, llvm::PipelineTuningOptions tuning)
    : builder(target, tuning) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(sccs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, sccs, modules);
}

}  // namespace ingot::metal::jit
