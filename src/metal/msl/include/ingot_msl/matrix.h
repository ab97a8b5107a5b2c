// <metal_matrix>: matrix<T, Columns, Rows> of 2 to 4 columns and rows, stored by columns, which are vectors.
// Its constructors, operators, transpose and determinant; conversion between element types.
#pragma once

#include "vec.h"

namespace metal {

template <typename T, int Columns, int Rows = Columns>
struct matrix {
    static_assert(Columns >= 2 && Columns <= 4 && Rows >= 2 && Rows <= 4, "a matrix is 2x2 to 4x4");
    static_assert(__is_same(T, float) || __is_same(T, half) || __is_same(T, bfloat),
                  "the elements of a matrix are float, half or bfloat");
    using value_type = T;
    using column_type = vec<T, Rows>;

    column_type columns[Columns];

    matrix() = default;
    // `diagonal` on the diagonal, 0 elsewhere.
    constexpr explicit matrix(T diagonal) : columns{} {
        for (int c = 0; c < Columns; ++c) {
            for (int r = 0; r < Rows; ++r) columns[c][r] = r == c ? diagonal : T(0);
        }
    }
    template <typename... V>
        requires(sizeof...(V) == Columns && (__is_same(V, column_type) && ...))
    constexpr matrix(V... column) : columns{column...} {}
    // Column after column.
    template <typename... E>
        requires(sizeof...(E) == Columns * Rows && ((__is_arithmetic(E) || __is_enum(E)) && ...))
    constexpr matrix(E... elements) : columns{} {
        const T all[] = {T(elements)...};
        for (int c = 0; c < Columns; ++c) {
            for (int r = 0; r < Rows; ++r) columns[c][r] = all[c * Rows + r];
        }
    }
    template <typename U>
        requires(!__is_same(U, T))
    constexpr explicit matrix(const matrix<U, Columns, Rows>& other) : columns{} {
        for (int c = 0; c < Columns; ++c) columns[c] = column_type(other.columns[c]);
    }

    constexpr column_type& operator[](int c) { return columns[c]; }
    constexpr const column_type& operator[](int c) const { return columns[c]; }

    constexpr matrix& operator+=(const matrix& b) { return *this = *this + b; }
    constexpr matrix& operator-=(const matrix& b) { return *this = *this - b; }
    constexpr matrix& operator*=(T b) { return *this = *this * b; }
    constexpr matrix& operator*=(const matrix& b)
        requires(Columns == Rows)
    {
        return *this = *this * b;
    }

    friend constexpr matrix operator+(const matrix& a) { return a; }
    friend constexpr matrix operator-(const matrix& a) {
        matrix result;
        for (int c = 0; c < Columns; ++c) result.columns[c] = -a.columns[c];
        return result;
    }
    friend constexpr matrix operator+(const matrix& a, const matrix& b) {
        matrix result;
        for (int c = 0; c < Columns; ++c) result.columns[c] = a.columns[c] + b.columns[c];
        return result;
    }
    friend constexpr matrix operator-(const matrix& a, const matrix& b) {
        matrix result;
        for (int c = 0; c < Columns; ++c) result.columns[c] = a.columns[c] - b.columns[c];
        return result;
    }
    friend constexpr matrix operator*(const matrix& a, T b) {
        matrix result;
        for (int c = 0; c < Columns; ++c) result.columns[c] = a.columns[c] * b;
        return result;
    }
    friend constexpr matrix operator*(T a, const matrix& b) { return b * a; }
    // The matrix times a column of `Columns` elements.
    friend constexpr column_type operator*(const matrix& a, const vec<T, Columns>& b) {
        column_type result = a.columns[0] * b[0];
        for (int c = 1; c < Columns; ++c) result += a.columns[c] * b[c];
        return result;
    }
    // A row of `Rows` elements times the matrix.
    friend constexpr vec<T, Columns> operator*(const column_type& a, const matrix& b) {
        vec<T, Columns> result(T(0));
        for (int c = 0; c < Columns; ++c) {
            for (int r = 0; r < Rows; ++r) result[c] += a[r] * b.columns[c][r];
        }
        return result;
    }
    friend constexpr bool operator==(const matrix& a, const matrix& b) {
        bool equal = true;
        for (int c = 0; c < Columns; ++c) {
            for (int r = 0; r < Rows; ++r) equal = equal && a.columns[c][r] == b.columns[c][r];
        }
        return equal;
    }
};

// a has as many columns as b rows.
template <typename T, int Inner, int Rows, int Columns>
constexpr matrix<T, Columns, Rows> operator*(const matrix<T, Inner, Rows>& a,
                                             const matrix<T, Columns, Inner>& b) {
    matrix<T, Columns, Rows> result;
    for (int c = 0; c < Columns; ++c) result.columns[c] = a * b.columns[c];
    return result;
}

template <typename T, int Columns, int Rows>
constexpr matrix<T, Rows, Columns> transpose(const matrix<T, Columns, Rows>& a) {
    matrix<T, Rows, Columns> result;
    for (int c = 0; c < Columns; ++c) {
        for (int r = 0; r < Rows; ++r) result.columns[r][c] = a.columns[c][r];
    }
    return result;
}

template <typename T>
constexpr T determinant(const matrix<T, 2, 2>& m) {
    return m[0][0] * m[1][1] - m[1][0] * m[0][1];
}
template <typename T>
constexpr T determinant(const matrix<T, 3, 3>& m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) -
           m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
           m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
// By the 2x2 minors of the upper and the lower two rows.
template <typename T>
constexpr T determinant(const matrix<T, 4, 4>& m) {
    const auto upper = [&](int a, int b) { return m[a][0] * m[b][1] - m[b][0] * m[a][1]; };
    const auto lower = [&](int a, int b) { return m[a][2] * m[b][3] - m[b][2] * m[a][3]; };
    return upper(0, 1) * lower(2, 3) - upper(0, 2) * lower(1, 3) + upper(0, 3) * lower(1, 2) +
           upper(1, 2) * lower(0, 3) - upper(1, 3) * lower(0, 2) + upper(2, 3) * lower(0, 1);
}

}  // namespace metal

#define INGOT_MATRIX_NAME(T, columns, rows)                      \
    using T##columns##x##rows = metal::matrix<T, columns, rows>; \
    namespace metal {                                            \
    using ::T##columns##x##rows;                                 \
    }
#define INGOT_MATRICES(T, columns)   \
    INGOT_MATRIX_NAME(T, columns, 2) \
    INGOT_MATRIX_NAME(T, columns, 3) \
    INGOT_MATRIX_NAME(T, columns, 4)
#define INGOT_ALL_MATRICES(T) \
    INGOT_MATRICES(T, 2)      \
    INGOT_MATRICES(T, 3)      \
    INGOT_MATRICES(T, 4)
INGOT_ALL_MATRICES(float)
INGOT_ALL_MATRICES(half)
INGOT_ALL_MATRICES(bfloat)
#undef INGOT_ALL_MATRICES
#undef INGOT_MATRICES
#undef INGOT_MATRIX_NAME
