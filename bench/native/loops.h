// What bench_metal_executors measures Metal kernels against: the same work as plain loops, compiled by the
// host's compiler with all it has (-O3 for this machine, fast math), one thread.
#pragma once

#include <cstddef>

namespace ingot::bench {

void native_exp(const float* in, float* out, size_t count);
// Rows of `columns`.
void native_rms(const float* in, const float* weights, float* out, size_t rows, size_t columns,
                float epsilon);
void native_softmax(const float* in, float* out, size_t rows, size_t columns);
void native_row_sum(const float* in, float* out, size_t rows, size_t columns);
void native_gemv(const float* matrix, const float* vector, float* out, size_t rows, size_t columns);

}  // namespace ingot::bench
