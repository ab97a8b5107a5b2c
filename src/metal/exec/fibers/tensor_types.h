// What generated code and the fiber runtime share about Metal 4 tensors: element types, private tensor views
// and the descriptor of `matmul2d`. Plain structs, read by offset. Where elements of a cooperative tensor lie
// is in cooperative_layout.h.
#pragma once

#include <cstdint>

namespace ingot::metal::fibers {

// Enumerator, name in function names, code that compiled kernels pass (0x80000000 alternative encoding,
// 0x10000000 float, 0x20000000 signed, low byte bits), bytes. The first three are what views are made with.
#define INGOT_METAL_TENSOR_TYPES(X) \
    X(kF32, "f32", 0x10000020u, 4)  \
    X(kF16, "f16", 0x10000010u, 2)  \
    X(kBF16, "b16", 0x90000010u, 2) \
    X(kI32, "i32", 0x20000020u, 4)  \
    X(kI8, "i8", 0x20000008u, 1)    \
    X(kU8, "u8", 0x00000008u, 1)

enum class TensorType : uint32_t {
#define X(enumerator, name, code, bytes) enumerator,
    INGOT_METAL_TENSOR_TYPES(X)
#undef X
};

constexpr int bytes_of(TensorType type) {
    constexpr int kBytes[] = {
#define X(enumerator, name, code, bytes) bytes,
        INGOT_METAL_TENSOR_TYPES(X)
#undef X
    };
    return kBytes[uint32_t(type)];
}

constexpr bool is_integer(TensorType type) {
    return type >= TensorType::kI32;
}

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

// matmul2d_descriptor as compiled kernels hold it. A negative k is as long as the operands are.
struct MatmulDescriptor {
    int32_t m, n, k;
    uint8_t transpose_left, transpose_right, relaxed;
    int32_t mode;  // 0 multiply, 1 multiply_accumulate
};

// How an operand reaches the runtime: a lane's elements, or a view.
constexpr uint32_t operand_code(TensorType type, bool is_view) {
    return uint32_t(type) | (is_view ? 0x100u : 0u);
}

}  // namespace ingot::metal::fibers
