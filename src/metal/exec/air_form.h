// The shared library's second door: modules of the source door's front end (src/metal/msl) become AIR
// modules, such as compiled libraries hold and Compiler (compiler.h) takes. Knows no LLVM on this side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ingot::metal {

// Part of the key of cached modules: raise it when to_air makes other modules of the same bitcode, or refuses
// more.
constexpr uint64_t kAirFormVersion = 5;

using AirModule = Result<std::vector<std::byte>>;

// Bitcode to bitcode; `name` becomes the kernel's. Loads LLVM on first use. Errors: kUnsupported (no shared
// library, or what Metal doesn't have), kCorrupt.
AirModule to_air(std::span<const std::byte> module, std::string_view name);

}  // namespace ingot::metal

// What the shared library exports.
extern "C" void ingot_metal_to_air(std::span<const std::byte> module, std::string_view name,
                                   ingot::metal::AirModule* result);
