// The kernels of MLX's headers that the front end has to compile, at least one instantiation a template.
#pragma once

#include <string>
#include <vector>

namespace ingot::metal::conformance {

struct SourceEntry {
    std::string name;     // of the kernel
    std::string headers;  // below mlx/backend/metal/kernels, separated by spaces
    std::string
        instantiation;  // template and arguments, separated by commas; empty for a kernel of the header
};

std::vector<SourceEntry> mlx_source_list();

}  // namespace ingot::metal::conformance
