// Metal 4 tensors and `matmul2d` of the fiber runtime: private tensor views, cooperative tensors (each lane
// of a simdgroup holds some elements of an operand), and their product. The element-to-lane map is a setting
// (CooperativeLayout); elements of a lane are contiguous. Reads outside a view's extents give 0, writes are
// dropped.
#pragma once

#include "metal/exec/fibers/lane.h"
#include "metal/exec/kernel.h"

namespace ingot::metal::fibers {

enum class TensorType : uint32_t { kF32 = 0, kF16 = 1, kBF16 = 2, kI32 = 3, kI8 = 4 };

// A view of rank r: 16 bytes, then r extents and r strides, innermost first. Kernels ask only for its size.
struct TensorView {
    char* data;
    int32_t type;
    int32_t rank;
    int32_t sizes[];

    int32_t extent(int dimension) const { return sizes[dimension]; }
    int64_t stride(int dimension) const { return sizes[rank + dimension]; }
};
constexpr uint32_t tensor_view_bytes(uint32_t rank) {
    return 16 + 8 * rank;
}

// matmul2d_descriptor as compiled kernels hold it.
struct MatmulDescriptor {
    int32_t m, n, k;
    uint8_t transpose_left, transpose_right, relaxed;
    int32_t mode;  // 0 multiply, 1 multiply_accumulate
};

// How one operand reaches ingot_matmul2d.
constexpr uint32_t operand_code(TensorType type, bool is_view) {
    return uint32_t(type) | (is_view ? 0x100u : 0u);
}

struct Place {
    int row, column;
};
// Where element `element` of `lane` lies in an operand of rows x columns.
Place place_of(CooperativeLayout layout, int lane, int element, int rows, int columns);

}  // namespace ingot::metal::fibers

extern "C" {
void ingot_tensor_init(ingot::metal::fibers::TensorView* view, uint32_t rank, char* data,
                       const int32_t* extents, const int32_t* strides, uint32_t type);
void ingot_tensor_slice(ingot::metal::fibers::TensorView* to, const ingot::metal::fibers::TensorView* from,
                        uint32_t rank, const int32_t* origin, const int32_t* extents);
// left, right: a lane's elements, or a TensorView; destination: a lane's float elements.
void ingot_matmul2d(ingot::metal::fibers::Lane* me, const ingot::metal::fibers::MatmulDescriptor* descriptor,
                    const void* left, uint32_t left_code, const void* right, uint32_t right_code,
                    float* destination, uint32_t layout);
void ingot_cooperative_copy(ingot::metal::fibers::Lane* me, char* elements,
                            const ingot::metal::fibers::TensorView* view, int32_t rows, int32_t columns,
                            uint32_t element_bytes, uint32_t is_store, uint32_t layout);
void ingot_cooperative_coordinate(ingot::metal::fibers::Lane* me, int32_t element, int32_t rows,
                                  int32_t columns, int32_t* column_and_row, uint32_t layout);
}
