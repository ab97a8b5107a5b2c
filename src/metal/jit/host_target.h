// The machine this process runs on, as LLVM sees it.
#pragma once

#include <string>

namespace llvm {
class TargetMachine;
}

namespace ingot::metal::jit {

// One per thread: a TargetMachine isn't safe to share.
llvm::TargetMachine& host_target();

// What code for it depends on: triple, processor, features.
std::string describe_host();

}  // namespace ingot::metal::jit
