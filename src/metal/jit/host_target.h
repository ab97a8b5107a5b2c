// The machine this process runs on, as LLVM sees it.
#pragma once

namespace llvm {
class TargetMachine;
}

namespace ingot::metal::jit {

// One per thread: a TargetMachine isn't safe to share.
llvm::TargetMachine& host_target();

}  // namespace ingot::metal::jit
