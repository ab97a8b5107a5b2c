// The reflection section of a .metallib: one FlatBuffer ("AIRR") per function with its arguments and
// constants, which answers what a kernel takes without parsing bitcode. Apple documents no schema; the fields
// used here were matched by hand against the AIR metadata of kernels in public libraries.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "metal/air/kernel_info.h"

namespace ingot::metal {

// `offset` is where the function's record begins inside `section`.
Result<KernelInfo> parse_reflection(std::span<const std::byte> section, uint64_t offset);

}  // namespace ingot::metal
