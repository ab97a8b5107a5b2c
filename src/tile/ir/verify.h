// The rules a kernel must keep; run on what a parser or the language made, and after each pass. Errors name
// file and line, what was observed and what is accepted. What it can't prove wrong it accepts: bounds that
// only fail at run time are the interpreter's.
#pragma once

#include "base/result.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

Result<void> verify(const Kernel& k);

}  // namespace ingot::tile
