// Products on tensors whose counts have closed forms (counter_test.cpp).
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

// A tile of 16 x 32 of the product of row-major matrices a threadgroup of `Scope`, 16 of the sums at a time.
template <typename T, typename Scope>
void multiply_tile(device T* a, device T* b, device float* c, uint columns, uint depth, uint2 tile) {
    constexpr auto descriptor = matmul2d_descriptor(16, 32, 16, false, false, false,
                                                    matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, Scope> product;
    using view = tensor<device T, dextents<int, 2>, tensor_inline>;
    using result = tensor<device float, dextents<int, 2>, tensor_inline>;
    result out(c + tile.y * 16 * columns + tile.x * 32, dextents<int, 2>(32, 16), array<int, 2>{1, int(columns)});
    for (uint k = 0; k < depth; k += 16) {
        view left(a + tile.y * 16 * depth + k, dextents<int, 2>(16, 16), array<int, 2>{1, int(depth)});
        view right(b + k * columns + tile.x * 32, dextents<int, 2>(32, 16), array<int, 2>{1, int(columns)});
        product.run(left, right, out);
    }
}

kernel void multiply_halves(device half* a, device half* b, device float* c, constant uint& columns,
                            constant uint& depth, uint2 tile [[threadgroup_position_in_grid]]) {
    multiply_tile<half, execution_simdgroup>(a, b, c, columns, depth, tile);
}

kernel void multiply_bfloats(device bfloat* a, device bfloat* b, device float* c, constant uint& columns,
                             constant uint& depth, uint2 tile [[threadgroup_position_in_grid]]) {
    multiply_tile<bfloat, execution_simdgroups<2>>(a, b, c, columns, depth, tile);
}
