// What every pass over a kernel's module sees. A pass is a function on an LLVM module; pipeline.cpp lists
// them all in order. Passes up to lower_builtins speak AIR and don't know the executor; from lower_to_fibers
// on they do.
//
// Between the two, what depends on the executor stays a call: air.* barriers, simdgroup functions and matrix
// products, and the context of the running thread as
//   i32 ingot.index.KIND.COMPONENT()    index arguments (kernel_info.h)
//   ptr ingot.buffer(i32 slot)          bound memory, null if nothing is bound
//   ptr addrspace(3) ingot.threadgroup(i32 slot), ingot.arena()
//   i64 ingot.stacks_begin(), ingot.stacks_bytes()   where the stacks of the group's threads lie
//   <2 x float> ingot.mma(<2 x float> a, b, c)    one lane's part of an 8x8 product
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"
#include "metal/exec/compiler.h"
#include "metal/exec/launch.h"

namespace ingot::metal::jit {

constexpr unsigned kDeviceSpace = 1, kConstantSpace = 2, kThreadgroupSpace = 3;

// The function that the executor calls; everything is inlined into it.
constexpr const char* kEntryName = "ingot_entry";

// Of a kernel's parameter: nothing else reaches what it points to. Optimisers don't know this one.
constexpr const char* kRestrictAttribute = "ingot-restrict";

// void MARK(i32 number): a block of code whose runs are counted (passes/count_arithmetic.cpp).
constexpr const char* kBlockMark = "ingot.block";

struct PassState {
    const CompileOptions& options;
    std::string kernel_name;
    KernelInfo info;     // grows: metadata when the entry is made, threadgroup bytes from the arena
    bool meets = false;  // has barriers or simdgroup functions
    uint32_t private_bytes = 0;
    uint32_t matrix_operations = 0, matrix_batches = 0;
    std::vector<MemoryObject> threadgroup_variables = {};  // from move_threadgroup_globals on
    Instrumentation instrumentation = {};
};

struct Pass {
    const char* name;
    Result<void> (*run)(llvm::Module& module, PassState& state);
};

}  // namespace ingot::metal::jit
