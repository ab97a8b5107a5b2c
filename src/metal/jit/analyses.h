// LLVM's analyses of a module, registered with one another as its new pass manager wants them. Owned by the
// caller for as long as results of them are used.
#pragma once

#include <llvm/Passes/PassBuilder.h>

namespace ingot::metal::jit {

struct Analyses {
    explicit Analyses(llvm::TargetMachine* target = nullptr, llvm::PipelineTuningOptions tuning = {});

    // Destroyed in the opposite order: inner analyses refer to outer ones.
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager sccs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
};

}  // namespace ingot::metal::jit
