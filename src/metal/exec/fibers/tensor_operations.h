// Metal 4 tensors of the fiber runtime but for the product (matmul.h): private tensor views, and cooperative
// tensors, which are loaded, stored, asked for coordinates and reduced. Reads outside a view's extents give
// 0, writes are dropped.
#pragma once

#include "metal/exec/fibers/lane.h"
#include "metal/exec/fibers/tensor_types.h"

extern "C" {
void ingot_tensor_init(ingot::metal::fibers::TensorView* view, uint32_t rank, char* data,
                       const int32_t* extents, const int32_t* strides, uint32_t type);
void ingot_tensor_slice(ingot::metal::fibers::TensorView* to, const ingot::metal::fibers::TensorView* from,
                        uint32_t rank, const int32_t* origin, const int32_t* extents);
// Moves elements of `thread` of the threadgroup, of an operand stored as rows x columns, from a view or to
// it.
void ingot_cooperative_copy(uint32_t thread, char* elements, uint32_t element_type,
                            const ingot::metal::fibers::TensorView* view, uint32_t view_type, int32_t rows,
                            int32_t columns, uint32_t is_store, uint32_t threads, uint32_t layout);
// Column and row of an element of `thread`; 0 if it stands for nothing: then they lie outside the operand.
uint32_t ingot_cooperative_coordinate(uint32_t thread, int32_t element, int32_t rows, int32_t columns,
                                      int32_t* column_and_row, uint32_t threads, uint32_t layout);
// Fills elements with NaN, integers with their largest value: what kScrambled has in place of nothing.
void ingot_cooperative_spoil(char* elements, uint32_t count, uint32_t element_bytes);
// Each element of `to` becomes the sum (0), minimum (1) or maximum (2) of the row (or column) its namesake in
// `from` lies in, and of `identity`. A meeting of the simdgroup.
void ingot_cooperative_reduce(ingot::metal::fibers::Lane* me, uint32_t site, const char* from, char* to,
                              uint32_t type, int32_t rows, int32_t columns, uint32_t by_columns,
                              uint32_t operation, uint32_t identity_bits, uint32_t threads, uint32_t layout);
// The same for a simdgroup whose threads are lanes of vectors: `from` and `to` are by lane.
void ingot_lanes_cooperative_reduce(uint32_t mask, const uint64_t* from, const uint64_t* to, uint32_t type,
                                    int32_t rows, int32_t columns, uint32_t by_columns, uint32_t operation,
                                    uint32_t identity_bits, uint32_t threads, uint32_t layout);
}
