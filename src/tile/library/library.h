// The kernels of examples/tile as part of the program: `ingot tile list` names them, and they can be compiled
// by name.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace ingot::tile {

struct LibraryKernel {
    std::string_view name;
    std::string_view text;  // of NAME.tile

    // What the comment in front of the kernel says.
    std::string_view summary() const;
};

std::span<const LibraryKernel> library();

// Error kNotFound names all there are.
Result<const LibraryKernel*> library_kernel(std::string_view name);

}  // namespace ingot::tile
