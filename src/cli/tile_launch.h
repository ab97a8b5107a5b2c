// Launches of tile kernels on the virtual Metal device: what `ingot tile run` and `ingot tile tune` share.
#pragma once

#include "cli/metal_launch.h"
#include "cli/tile.h"
#include "tile/api/compile.h"

namespace ingot::cli {

// Every tensor's memory: what was given, zeros for outputs that weren't.
Result<std::map<std::string, Array>> tensor_memory(const tile::Kernel& k, TileInputs& inputs);

// The launch as the descriptor says it; `packed` and `memory` are what its buffers point to. `watched`: for
// checkers and counters.
Result<PreparedLaunch> prepare_tile(const tile::CompiledKernel& c, const tile::Launch& launch,
                                    const DeviceFlags& device, bool watched,
                                    std::map<std::string, Array>& memory, std::vector<std::byte>& packed);

}  // namespace ingot::cli
