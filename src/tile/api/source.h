// Metal source in parts, so that several kernels can stand in one file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tile/api/target.h"

namespace ingot::tile {

struct SourceParts {
    std::vector<std::string> includes;  // "metal_stdlib"
    std::vector<std::string> helpers;   // functions, whole
    std::string code;                   // what is this kernel's alone
    LanguageNeeds needs;
    uint32_t batched_copies = 0;  // that read several values before they store them
};

// One file: headers and helpers once each. Where some kernels need a newer language than others, what is
// theirs stands under a condition on __METAL_VERSION__, so that older compilers read the file.
std::string source_text(std::span<const SourceParts> kernels);

}  // namespace ingot::tile
