// LLVM in this process, without what `compiler()` puts around it: for that wrapper and for the child process
// that isolated_compiler.h starts.
#pragma once

#include <string>

#include "metal/exec/compiler.h"

namespace ingot::metal {

// As compiler().
Result<Compiler*> local_compiler();

// The program that serves as the child; it lies beside the shared library.
Result<std::string> compiler_worker_program();

}  // namespace ingot::metal
