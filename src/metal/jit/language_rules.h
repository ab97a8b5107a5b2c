// Rules of the Metal language that the C++ compiler in front doesn't know: no recursion, no variables that
// outlive a thread and can be changed. Errors name what breaks them and the line. Address spaces are
// address_spaces.h.
#pragma once

#include <llvm/IR/Module.h>

#include "base/result.h"

namespace ingot::metal::jit {

// Errors: kCorrupt with a program-scope or static variable that is neither constant nor in threadgroup
// memory. Before anything is optimised these are all but what an initialiser at run time gives its value
// (which may be that of function constants); when everything is inlined, those too that a thread writes.
enum class ProgramVariables : uint8_t { kDeclared, kWritten };
Result<void> refuse_program_variables(llvm::Module& module, ProgramVariables which);

// Compiled libraries that recurse run (inline_all.cpp), sources are told. Errors: kUnsupported.
Result<void> refuse_recursion(llvm::Module& module);

// Whether the front end asks for what only Apple's compiler sees (SourceOptions::strict), by a global that
// goes with the question.
bool take_strict_mark(llvm::Module& module);

}  // namespace ingot::metal::jit
