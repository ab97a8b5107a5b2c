// Kernels of the compiled libraries with arguments that are made up, on both executors: whatever a kernel
// then does, both must do it. No reference is needed, so that any kernel can be taken.
#pragma once

namespace ingot::metal::conformance {

// Registers a test madeup.LIBRARY/KERNEL for each of INGOT_MADE_UP kernels of each library, chosen by
// INGOT_MADE_UP_SEED; none where the first isn't set.
void register_made_up_tests();

}  // namespace ingot::metal::conformance
