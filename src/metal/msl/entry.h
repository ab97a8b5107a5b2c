// The generated end of a translation unit: `ingot_entry_function`, whose parameters have Metal's address
// spaces and which calls the requested kernel, and tables that describe its arguments and the function
// constants. The AIR form (jit/to_air.h) reads and removes the tables; types, sizes and attribute expressions
// in them are the compiler's to evaluate, by the templates of include/ingot_msl/entry.h.
#pragma once

#include <string>

#include "metal/msl/passes/passes.h"

namespace ingot::metal::msl {

// Marks the kernel in `edits` and returns the text that follows the source. Errors: kUnsupported with file
// and line (a parameter no compute kernel has).
Result<std::string> write_entry(const Source& source, const Kernel& kernel, const EntryPoint& entry,
                                const std::vector<FunctionConstantDeclaration>& constants, Edits& edits);

}  // namespace ingot::metal::msl
