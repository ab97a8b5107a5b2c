// What the host binds where a kernel takes a tensor (`tensor<device T, dextents<int, N>>`): a record that
// leads to the elements. The MSL library reads it (bound_tensor in msl/include/ingot_msl/tensor.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ingot::metal {

// Extents and strides count elements, innermost dimension first. The elements stay the caller's.
std::vector<std::byte> tensor_argument(const void* elements, std::span<const int32_t> extents,
                                       std::span<const int32_t> strides);
// Dense ones: each dimension strides over the ones inside it.
std::vector<int32_t> dense_strides(std::span<const int32_t> extents);

}  // namespace ingot::metal
