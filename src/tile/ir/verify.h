// The rules a kernel must keep; run on what a parser or the language made, and after each pass. Errors name
// file and line, what was observed and what is accepted. What it can't prove wrong it accepts: bounds that
// only fail at run time are the interpreter's.
#pragma once

#include "base/result.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

// Whether a place that is never inside of its tensor is a mistake. It is where an author wrote it for any
// size; where sizes became known it means nothing is read or written.
enum class TensorBounds : uint8_t { kChecked, kFree };

Result<void> verify(const Kernel& k, TensorBounds bounds = TensorBounds::kChecked);

}  // namespace ingot::tile
