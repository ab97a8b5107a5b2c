// AIR metadata of a module: !air.kernel (entry function, arguments), !air.function_constants. Reads only.
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"
#include "metal/air/kernel_info.h"

namespace ingot::metal::jit {

struct KernelMetadata {
    llvm::Function* function = nullptr;
    KernelInfo info;
};

Result<KernelMetadata> read_kernel_metadata(llvm::Module& module);

struct ConstantGlobal {
    llvm::GlobalVariable* global;
    FunctionConstant constant;
};

// The function constants of a module, with the globals that hold their values.
std::vector<ConstantGlobal> read_function_constants(llvm::Module& module);

}  // namespace ingot::metal::jit
