// <metal_simdgroup_matrix>: 8x8 matrices of half, bfloat and float that the 32 lanes of a simdgroup hold
// together, two elements each. Which two is the executor's business; thread_elements() hands them out.
#pragma once

#include "vec.h"

namespace metal {

template <typename T, int Columns, int Rows>
struct simdgroup_matrix;

namespace ingot {

// In AIR a matrix is a vector of 64; a lane uses elements 0 and 1.
template <typename T>
using matrix_lanes = native<T, 64>;

#define INGOT_TWO_OF_64(any)                                                                                \
    0, 1, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any,    \
        any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, \
        any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, any, \
        any, any, any

namespace air {

#define INGOT_MATRIX(T, t)                                                                               \
    matrix_lanes<T> simdgroup_matrix_load(const T*, ulong, native<ulong, 2>,                             \
                                          bool) __asm__("air.simdgroup_matrix_8x8_load.v64" t ".p0" t);  \
    void simdgroup_matrix_store(matrix_lanes<T>, T*, ulong, native<ulong, 2>,                            \
                                bool) __asm__("air.simdgroup_matrix_8x8_store.v64" t ".p0" t);           \
    matrix_lanes<T> simdgroup_matrix_init_filled(T) __asm__("air.simdgroup_matrix_8x8_init_filled.v64" t \
                                                            "." t);                                      \
    matrix_lanes<T> simdgroup_matrix_init_diag(T) __asm__("air.simdgroup_matrix_8x8_init_diag.v64" t "." t);
INGOT_MATRIX(float, "f32")
INGOT_MATRIX(half, "f16")
INGOT_MATRIX(bfloat, "bf16")
#undef INGOT_MATRIX

#define INGOT_MATRIX_PRODUCT(D, d, A, a, B, b)                                                          \
    __attribute__((convergent)) matrix_lanes<D> simdgroup_matrix_multiply_accumulate(                   \
        matrix_lanes<A>, matrix_lanes<B>,                                                               \
        matrix_lanes<D>) __asm__("air.simdgroup_matrix_8x8_multiply_accumulate.v64" d ".v64" a ".v64" b \
                                 ".v64" d);
#define INGOT_MATRIX_RIGHT(D, d, A, a)             \
    INGOT_MATRIX_PRODUCT(D, d, A, a, float, "f32") \
    INGOT_MATRIX_PRODUCT(D, d, A, a, half, "f16")  \
    INGOT_MATRIX_PRODUCT(D, d, A, a, bfloat, "bf16")
#define INGOT_MATRIX_LEFT(D, d)            \
    INGOT_MATRIX_RIGHT(D, d, float, "f32") \
    INGOT_MATRIX_RIGHT(D, d, half, "f16")  \
    INGOT_MATRIX_RIGHT(D, d, bfloat, "bf16")
INGOT_MATRIX_LEFT(float, "f32")
INGOT_MATRIX_LEFT(half, "f16")
INGOT_MATRIX_LEFT(bfloat, "bf16")
#undef INGOT_MATRIX_LEFT
#undef INGOT_MATRIX_RIGHT
#undef INGOT_MATRIX_PRODUCT

}  // namespace air

template <typename T>
inline matrix_lanes<T> to_matrix(const vec<T, 2>& elements) {
    return __builtin_shufflevector(elements.lanes, elements.lanes, INGOT_TWO_OF_64(0));
}
template <typename T>
inline void from_matrix(vec<T, 2>& elements, matrix_lanes<T> matrix) {
    elements.lanes = __builtin_shufflevector(matrix, matrix, 0, 1);
}
#undef INGOT_TWO_OF_64

}  // namespace ingot

template <typename T, int Columns, int Rows>
struct simdgroup_matrix {
    static_assert(Columns == 8 && Rows == 8, "a simdgroup_matrix has 8 columns and 8 rows");
    static_assert(__is_same(T, float) || __is_same(T, half) || __is_same(T, bfloat),
                  "the elements of a simdgroup_matrix are float, half or bfloat");
    using value_type = T;
    using storage_type = vec<T, 2>;

    simdgroup_matrix() = default;
    // `diagonal` on the diagonal, 0 elsewhere.
    explicit simdgroup_matrix(T diagonal) {
        ingot::from_matrix(elements_, ingot::air::simdgroup_matrix_init_diag(diagonal));
    }

    // The calling lane's elements.
    storage_type& thread_elements() { return elements_; }
    const storage_type& thread_elements() const { return elements_; }

  private:
    storage_type elements_;
};

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <typename T, int Columns, int Rows = Columns, typename U>
inline simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(U value) {
    simdgroup_matrix<T, Columns, Rows> result;
    ingot::from_matrix(result.thread_elements(), ingot::air::simdgroup_matrix_init_filled(T(value)));
    return result;
}

// Element (x, y) of the matrix is source[(origin.y + y) * elements_per_row + origin.x + x], with x and y
// swapped if `transpose_matrix`.
template <typename T, typename U, int Columns, int Rows>
    requires __is_same
(__remove_cv(U), T) inline void simdgroup_load(simdgroup_matrix<T, Columns, Rows>& d, U* source,
                                               ulong elements_per_row = Columns,
                                               ulong2 matrix_origin = ulong2(0),
                                               bool transpose_matrix = false) {
    ingot::from_matrix(d.thread_elements(),
                       ingot::air::simdgroup_matrix_load(const_cast<const T*>(source), elements_per_row,
                                                         matrix_origin.lanes, transpose_matrix));
}
template <typename T, int Columns, int Rows>
inline void simdgroup_store(const simdgroup_matrix<T, Columns, Rows>& a, type_identity_t<T>* destination,
                            ulong elements_per_row = Columns, ulong2 matrix_origin = ulong2(0),
                            bool transpose_matrix = false) {
    ingot::air::simdgroup_matrix_store(ingot::to_matrix(a.thread_elements()), destination, elements_per_row,
                                       matrix_origin.lanes, transpose_matrix);
}

// d = a * b + c
template <typename D, typename A, typename B, typename C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                          const simdgroup_matrix<B, 8, 8>& b,
                                          const simdgroup_matrix<C, 8, 8>& c) {
    ingot::from_matrix(d.thread_elements(),
                       ingot::air::simdgroup_matrix_multiply_accumulate(
                           ingot::to_matrix(a.thread_elements()), ingot::to_matrix(b.thread_elements()),
                           ingot::to_matrix(vec<D, 2>(c.thread_elements()))));
}
template <typename D, typename A, typename B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                               const simdgroup_matrix<B, 8, 8>& b) {
    simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<D, 8, 8>(0));
}
template <typename T>
inline simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8>& a,
                                           const simdgroup_matrix<T, 8, 8>& b) {
    simdgroup_matrix<T, 8, 8> d;
    simdgroup_multiply(d, a, b);
    return d;
}

}  // namespace metal
