// Whether a kernel's results depend on how cooperative tensors lie in threads: Apple leaves that to the
// implementation.
#pragma once

#include <functional>

#include "metal/check/finding.h"

namespace ingot::metal::check {

// A buffer's bytes after a launch, by slot.
using BuffersAfter = std::map<uint32_t, std::vector<std::byte>>;

// `run` launches the kernel in a layout, each time on the same memory, unwatched. Nothing if all agree to the
// bit, or if the kernel has no tensor operations.
Result<std::optional<Finding>> compare_layouts(
    const Kernel& kernel, const std::function<Result<BuffersAfter>(CooperativeLayout)>& run);

}  // namespace ingot::metal::check
