// The kernels of one instruction set: functions over rows, blocks and tiles, without threads. ops.h,
// mat_mul.h and attention.h split work over the threads of a region and call these; nothing else should.
// Pointers need only the alignment of their element type. Outputs may be the inputs (same pointer), never
// overlap them otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "llm/backend/cpu/kernels/isa.h"
#include "llm/quant/quant.h"

namespace ingot::cpu {

struct AttendTask;
struct MatMulKernel;

// What each function computes, element by element; n is a count of floats.
//   silu(x) = x / (1 + e^-x);  gelu(x) = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
struct KernelTable {
    Isa isa;

    void (*add)(const float* a, const float* b, float* y, size_t n);
    void (*mul)(const float* a, const float* b, float* y, size_t n);
    void (*scale)(const float* x, float factor, float* y, size_t n);
    void (*silu)(const float* x, float* y, size_t n);
    void (*gelu)(const float* x, float* y, size_t n);
    void (*swiglu)(const float* gate, const float* up, float* y, size_t n);  // silu(gate) * up
    void (*geglu)(const float* gate, const float* up, float* y, size_t n);   // gelu(gate) * up
    // One row: e^(x - max) / sum.
    void (*softmax)(const float* x, float* y, size_t n);
    // One row: x / sqrt(mean(x^2) + epsilon) * gain.
    void (*rms_norm)(const float* x, const float* gain, float* y, size_t n, float epsilon);

    // One head: pairs (x[i], x[i + half]), or (x[2i], x[2i + 1]), turned by the angle with cosine[i],
    // sine[i].
    void (*rope_neox)(const float* x, const float* cosine, const float* sine, float* y, size_t half);
    void (*rope_interleaved)(const float* x, const float* cosine, const float* sine, float* y, size_t half);

    void (*float_to_half)(const float* x, uint16_t* y, size_t n);  // rounds to nearest even

    void (*attend)(const AttendTask& task);  // attention.h

    // The kernel of a weight type, or null: the type is not served (mat_mul.h).
    const MatMulKernel* (*mat_mul)(QuantType type);
};

// `isa` is one of available_isas().
const KernelTable& kernel_table(Isa isa);

}  // namespace ingot::cpu
