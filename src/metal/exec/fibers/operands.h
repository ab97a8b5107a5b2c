// Operands of a product as dense matrices of numbers (float, or int32): from a view in memory, where what is
// outside its extents reads as 0, or from the elements that the lanes of a simdgroup hold.
#pragma once

#include <cstddef>
#include <vector>

#include "metal/exec/fibers/cooperative_layout.h"
#include "metal/exec/fibers/tensor_types.h"

namespace ingot::metal::fibers {

// Memory that is reused from call to call.
template <typename T>
class Scratch {
  public:
    T* sized(size_t count) {
        if (memory_.size() < count) memory_.resize(count);
        return memory_.data();
    }

  private:
    std::vector<T> memory_;
};

// The lanes of one simdgroup (or one thread) and where each has its elements.
struct Lanes {
    const uint64_t* pointers;  // by lane
    uint32_t mask;
    int simdgroup;  // of the scope
};

// A dense matrix: element (r, c) at data[r * row_stride + c * column_stride].
template <typename Number>
struct Dense {
    Number* data;
    ptrdiff_t row_stride, column_stride;
};

template <typename Number>
void read_view(const Dense<Number>& out, const TensorView& view, const Rectangle& part, TensorType type);
template <typename Number>
void write_view(const TensorView& view, const Dense<const Number>& from, const Rectangle& part,
                TensorType type);

// `part` must hold every element of the simdgroup; elements of lanes outside the mask aren't touched.
// `out` has a column stride of 1.
template <typename Number>
void read_lanes(const Dense<Number>& out, const Lanes& lanes, const CooperativeShape& shape,
                const Rectangle& part, TensorType type);
template <typename Number>
void write_lanes(const Lanes& lanes, const Dense<const Number>& from, const CooperativeShape& shape,
                 const Rectangle& part, TensorType type);

}  // namespace ingot::metal::fibers
