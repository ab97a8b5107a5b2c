// Runs what the tile compiler emitted on the virtual Metal device, through its source door.
#pragma once

#include "metal/count/counter.h"
#include "metal/exec/executor.h"
#include "tile/api/compile.h"
#include "tile/library.h"

namespace ingot::tile::testing {

// Memory of the outputs after one launch, as doubles. Errors: whatever stops the source from being compiled
// or launched; a byte written behind the end of a buffer; a finding of its
// checkers. `counts`, if given, gets what the launch did, of all its groups.
Result<Results> run_on_device(const CompiledKernel& compiled, const Arguments& arguments,
                              metal::CooperativeLayout layout = metal::CooperativeLayout::kNax,
                              metal::count::Counts* counts = nullptr);

// The layouts of cooperative tensors in which an emitted kernel is run: all, where it has such tensors.
std::vector<metal::CooperativeLayout> layouts_of(const CompiledKernel& compiled);

// What one launch did, of all its groups.
Result<metal::count::Counts> count_on_device(const CompiledKernel& compiled, const Arguments& arguments);

}  // namespace ingot::tile::testing
