#include "native/loops.h"

#include <algorithm>
#include <cmath>

namespace ingot::bench {

void native_exp(const float* in, float* out, size_t count) {
    for (size_t i = 0; i < count; ++i) out[i] = std::exp(in[i]);
}

void native_rms(const float* in, const float* weights, float* out, size_t rows, size_t columns,
                float epsilon) {
    for (size_t r = 0; r < rows; ++r, in += columns, out += columns) {
        float sum = 0;
        for (size_t i = 0; i < columns; ++i) sum += in[i] * in[i];
        const float scale = 1 / std::sqrt(sum / float(columns) + epsilon);
        for (size_t i = 0; i < columns; ++i) out[i] = in[i] * scale * weights[i];
    }
}

void native_softmax(const float* in, float* out, size_t rows, size_t columns) {
    for (size_t r = 0; r < rows; ++r, in += columns, out += columns) {
        float largest = in[0], sum = 0;
        for (size_t i = 0; i < columns; ++i) largest = std::max(largest, in[i]);
        for (size_t i = 0; i < columns; ++i) sum += out[i] = std::exp(in[i] - largest);
        for (size_t i = 0; i < columns; ++i) out[i] /= sum;
    }
}

void native_row_sum(const float* in, float* out, size_t rows, size_t columns) {
    for (size_t r = 0; r < rows; ++r, in += columns) {
        float sum = 0;
        for (size_t i = 0; i < columns; ++i) sum += in[i];
        out[r] = sum;
    }
}

void native_gemv(const float* matrix, const float* vector, float* out, size_t rows, size_t columns) {
    for (size_t r = 0; r < rows; ++r, matrix += columns) {
        float sum = 0;
        for (size_t i = 0; i < columns; ++i) sum += matrix[i] * vector[i];
        out[r] = sum;
    }
}

}  // namespace ingot::bench
