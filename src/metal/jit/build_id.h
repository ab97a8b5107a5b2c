// Which build of the compiler this is.
#pragma once

#include <string>

namespace ingot::metal::jit {

// The build ID that the linker computed from this shared library's content: two builds whose passes differ
// have different ones. Empty where there is none.
std::string build_id();

}  // namespace ingot::metal::jit
