// Rows of tensor elements to the numbers that products are computed in, and back: float, or int32 if all
// operands are integers.
#pragma once

#include <cstddef>

#include "metal/exec/fibers/tensor_types.h"

namespace ingot::metal::fibers {

void read_elements(float* out, const void* from, size_t count, TensorType type);
void read_elements(int32_t* out, const void* from, size_t count, TensorType type);
void write_elements(void* to, const float* values, size_t count, TensorType type);
void write_elements(void* to, const int32_t* values, size_t count, TensorType type);

}  // namespace ingot::metal::fibers
