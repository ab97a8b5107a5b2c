// Reads the text form of kernels (.tile). Errors name file, line and column, what stands there and what may
// stand there. The result is well formed as text; verify.h checks what it means.
#pragma once

#include <string_view>

#include "base/result.h"
#include "tile/ir/ir.h"

namespace ingot::tile {

Result<Kernel> parse(std::string_view text, std::string_view file = "<text>");

}  // namespace ingot::tile
