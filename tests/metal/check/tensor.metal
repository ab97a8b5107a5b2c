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
