// The system's default Metal device to tune on, by its own clock: a GPU where there is one, through nothing
// but calls of the Metal API. Where the virtual device stands in for it, times are those of this machine's
// processor and labelled so.
#pragma once

#include "tile/tuner/tuner.h"

namespace ingot::tile {

// `arguments` must outlive it. Errors: no device.
Result<std::unique_ptr<TuningDevice>> metal_device(const Arguments& arguments);

}  // namespace ingot::tile
