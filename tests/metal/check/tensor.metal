// Cooperative tensors whose elements are counted on.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

using floats = tensor<device float, dextents<int, 2>, tensor_inline>;

constexpr auto kSmall = matmul2d_descriptor(16, 16, 16);
constexpr auto kSquare = matmul2d_descriptor(32, 32, 32);

template <typename Scope>
using small_product = matmul2d<kSmall, Scope>;

// Writes each element to where it belongs; asks for `extra` elements more than there are.
template <typename Scope>
void write_by_place(device float* a, device float* out, int extra, bool looks) {
    small_product<Scope> product;
    floats left(a, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    auto total = product.template get_destination_cooperative_tensor<floats, floats, float>();
    for (ushort e = 0; e < total.get_capacity(); ++e) total[e] = 0;
    product.run(left, left, total);
    for (int e = 0; e < int(total.get_capacity()) + extra; ++e) {
        if (looks && !total.is_valid_element(e)) continue;
        const auto at = total.get_multidimensional_index(e);
        if (at[0] < 16 && at[1] < 16) out[at[1] * 16 + at[0]] = total[min(e, int(total.get_capacity()) - 1)];
    }
}

// bad tensor-capacity: {"kernel": "asks_for_one_more", "grid": 1, "threads": 32, "buffers": [1024, 1024]}
kernel void asks_for_one_more(device float* a, device float* out) {
    write_by_place<execution_simdgroup>(a, out, 1, false);
}

// good tensor-capacity: {"kernel": "asks_for_what_there_is", "grid": 1, "threads": 32, "buffers": [1024, 1024]}
kernel void asks_for_what_there_is(device float* a, device float* out) {
    write_by_place<execution_simdgroup>(a, out, 0, false);
}

// bad invalid-element: {"kernel": "believes_in_all_elements", "grid": 1, "threads": 64, "buffers": [1024, 1024]}
kernel void believes_in_all_elements(device float* a, device float* out) {
    write_by_place<execution_simdgroups<2>>(a, out, 0, false);
}

// good invalid-element: {"kernel": "looks_before", "grid": 1, "threads": 64, "buffers": [1024, 1024]}
kernel void looks_before(device float* a, device float* out) {
    write_by_place<execution_simdgroups<2>>(a, out, 0, true);
}

// bad mixed-layouts: {"kernel": "multiplies_a_result", "grid": 1, "threads": 32, "buffers": [4096, 4096]}
kernel void multiplies_a_result(device float* a, device float* out) {
    matmul2d<kSquare, execution_simdgroup> product;
    floats left(a, dextents<int, 2>(32, 32), array<int, 2>{1, 32});
    floats result(out, dextents<int, 2>(32, 32), array<int, 2>{1, 32});
    auto square = product.get_destination_cooperative_tensor<floats, floats, float>();
    product.run(left, left, square);
    product.run(square, left, result);
}

// good mixed-layouts: {"kernel": "multiplies_what_it_loads", "grid": 1, "threads": 32, "buffers": [4096, 4096]}
kernel void multiplies_what_it_loads(device float* a, device float* out) {
    matmul2d<kSquare, execution_simdgroup> product;
    floats right(a, dextents<int, 2>(32, 32), array<int, 2>{1, 32});
    floats result(out, dextents<int, 2>(32, 32), array<int, 2>{1, 32});
    auto left = product.get_left_input_cooperative_tensor<float, float, float>();
    left.load(right);
    product.run(left, right, result);
}

// Numbers its elements by their place, and writes them by place or one after the other.
template <bool ByPlace>
void number_elements(device float* a, device float* out, uint lane) {
    small_product<execution_simdgroup> product;
    floats left(a, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    auto total = product.template get_destination_cooperative_tensor<floats, floats, float>();
    product.run(left, left, total);
    for (ushort e = 0; e < 8; ++e) {
        if (!total.is_valid_element(e)) continue;
        const auto at = total.get_multidimensional_index(e);
        const int place = at[1] * 16 + at[0];
        out[ByPlace ? place : int(lane) * 8 + e] = float(place);
    }
}

// bad layout-dependence: {"kernel": "writes_one_after_the_other", "grid": 1, "threads": 32, "buffers": [1024, 1024]}
kernel void writes_one_after_the_other(device float* a, device float* out,
                                       uint lane [[thread_index_in_simdgroup]]) {
    number_elements<false>(a, out, lane);
}

// good layout-dependence: {"kernel": "writes_by_place", "grid": 1, "threads": 32, "buffers": [1024, 1024]}
kernel void writes_by_place(device float* a, device float* out) {
    write_by_place<execution_simdgroup>(a, out, 0, true);
}

// The square of a tile of `rows` rows, to where `out` has room for 16.
void store_rows(device float* a, device float* out, int rows) {
    small_product<execution_simdgroup> product;
    floats left(a, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    floats result(out, dextents<int, 2>(16, rows), array<int, 2>{1, 16});
    product.run(left, left, result);
}

// bad unknown-address: {"kernel": "multiplies_past_the_end", "grid": 1, "threads": 32, "buffers": [1024, 576]}
kernel void multiplies_past_the_end(device float* a, device float* out) {
    store_rows(a, out, 16);
}

// good unknown-address: {"kernel": "multiplies_up_to_the_end", "grid": 1, "threads": 32, "buffers": [1024, 576]}
kernel void multiplies_up_to_the_end(device float* a, device float* out) {
    store_rows(a, out, 9);
}

using shared_floats = tensor<threadgroup float, dextents<int, 2>, tensor_inline>;

// The first simdgroup takes the square of a tile of which both wrote `rows` rows together.
template <bool Waits>
void square_of_shared(device float* out, threadgroup float* tile, uint t, uint rows) {
    for (uint i = t; i < 16 * rows; i += 64) tile[i] = float(i);
    if (Waits) threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t >= 32) return;
    small_product<execution_simdgroup> product;
    shared_floats left(tile, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    floats result(out, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    product.run(left, left, result);
}

// bad threadgroup-race: {"kernel": "multiplies_too_early", "grid": 1, "threads": 64, "buffers": [1024]}
kernel void multiplies_too_early(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[256];
    square_of_shared<false>(out, tile, t, 16);
}

// good threadgroup-race: {"kernel": "multiplies_after_the_barrier", "grid": 1, "threads": 64, "buffers": [1024]}
kernel void multiplies_after_the_barrier(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[256];
    square_of_shared<true>(out, tile, t, 16);
}

// bad uninitialised-threadgroup: {"kernel": "multiplies_what_nobody_wrote", "grid": 1, "threads": 64, "buffers": [1024]}
kernel void multiplies_what_nobody_wrote(device float* out, uint t [[thread_index_in_threadgroup]]) {
    threadgroup float tile[256];
    square_of_shared<true>(out, tile, t, 8);
}

// Stores the square of tile `which` of `a` to `out`, `apart` floats from the first one's.
void store_square(device float* a, device float* out, uint which, uint place, int apart) {
    small_product<execution_simdgroup> product;
    floats left(a + which * 256, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    floats result(out + int(place) * apart, dextents<int, 2>(16, 16), array<int, 2>{1, 16});
    product.run(left, left, result);
}

// Of tiles that differ, by simdgroups.
void store_squares(device float* a, device float* out, uint simdgroup, uint lane, int apart) {
    a[simdgroup * 256 + lane] = float(simdgroup + 1);
    simdgroup_barrier(mem_flags::mem_device);
    store_square(a, out, simdgroup, simdgroup, apart);
}

// bad device-race: {"kernel": "stores_over_each_other", "grid": 1, "threads": 64, "buffers": [2048, 2048]}
kernel void stores_over_each_other(device float* a, device float* out,
                                   uint simdgroup [[simdgroup_index_in_threadgroup]],
                                   uint lane [[thread_index_in_simdgroup]]) {
    store_squares(a, out, simdgroup, lane, 128);
}

// good device-race: {"kernel": "stores_side_by_side", "grid": 1, "threads": 64, "buffers": [2048, 2048]}
kernel void stores_side_by_side(device float* a, device float* out,
                                uint simdgroup [[simdgroup_index_in_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]]) {
    store_squares(a, out, simdgroup, lane, 256);
}

// bad uninitialised-buffer: {"kernel": "multiplies_its_output", "grid": 1, "threads": 32, "buffers": [2048], "out": [0]}
kernel void multiplies_its_output(device float* out) {
    store_square(out, out, 1, 0, 0);
}

// Tiles at the edge reach back over the one before, and bring what it brought.
// good group-race: {"kernel": "stores_tiles_that_overlap", "grid": 2, "threads": 32, "buffers": [1024, 2048]}
kernel void stores_tiles_that_overlap(device float* a, device float* out,
                                      uint group [[threadgroup_position_in_grid]]) {
    store_square(a, out, 0, group, 128);
}
