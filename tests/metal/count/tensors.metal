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

// Tiles of 16 x 32, a simdgroup each: left rows and right columns come from memory, half of the right
// operand by way of threadgroup memory; the result is stored through the tensor.
kernel void multiply_by_way_of_threadgroup_memory(device half* a [[buffer(0)]], device half* b [[buffer(1)]], device float* c [[buffer(2)]],
                     constant int& depth [[buffer(3)]], uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]]) {
    threadgroup half tile[16 * 32];
    for (int i = 0; i < 16; ++i) tile[i * 32 + t] = b[i * 32 + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    constexpr auto d = matmul2d_descriptor(16, 32, 16, false, false, false, matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<d, execution_simdgroup> product;
    using device_view = tensor<device half, dextents<int, 2>, tensor_inline>;
    using shared_view = tensor<threadgroup half, dextents<int, 2>, tensor_inline>;
    device_view left(a + int(row) * 16 * depth, dextents<int, 2>(16, 16), array<int, 2>{1, depth});
    device_view right(b, dextents<int, 2>(32, 16), array<int, 2>{1, 32});
    shared_view staged(tile, dextents<int, 2>(32, 16), array<int, 2>{1, 32});
    auto sum = product.get_destination_cooperative_tensor<device_view, device_view, float>();
    for (ushort i = 0; i < sum.get_capacity(); ++i) sum[i] = 0;
    product.run(left, staged, sum);
    for (int k = 16; k < depth; k += 16) {
        device_view left_step(a + int(row) * 16 * depth + k, dextents<int, 2>(16, 16), array<int, 2>{1, depth});
        device_view right_step(b + k * 32, dextents<int, 2>(32, 16), array<int, 2>{1, 32});
        product.run(left_step, right_step, sum);
    }
    tensor<device float, dextents<int, 2>, tensor_inline> out(c + row * 16 * 32, dextents<int, 2>(32, 16),
                                                              array<int, 2>{1, 32});
    sum.store(out);
}
