// What the tables of MLX's products share: one reference, a double loop over operands stored plainly or
// transposed.
#pragma once

#include <algorithm>

#include "metal_conformance/session.h"

namespace ingot::metal::conformance {

struct Shape {
    int m, n, k;
};

inline int tiles(int size, int tile) {
    return (size + tile - 1) / tile;
}

// A float result rounds once; sums are float.
inline double tolerance(Type type) {
    return 1e-5 + rounding(type);
}

// One matrix of a batch: `at` is its first element.
struct Operand {
    const Array& values;
    bool transposed;
    size_t at = 0;

    double get(int row, int column, int rows, int columns) const {
        return values.get(at + (transposed ? size_t(column) * rows + row : size_t(row) * columns + column));
    }
};

// Adds a * b, over k from `begin` to `end`, to out.
inline void multiply(const Operand& a, const Operand& b, Shape s, double* out, int begin = 0,
                     int end = 1 << 30) {
    for (int i = 0; i < s.m; ++i) {
        for (int j = 0; j < s.n; ++j) {
            double sum = 0;
            for (int p = begin; p < std::min(end, s.k); ++p)
                sum += a.get(i, p, s.m, s.k) * b.get(p, j, s.k, s.n);
            out[size_t(i) * s.n + j] += sum;
        }
    }
}

}  // namespace ingot::metal::conformance
